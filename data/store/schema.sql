-- The store. Everything a page or an address shows is read from these tables.
-- Tables have no keys or constraints except NOT NULL: the importer checks a whole file before any row of it is stored,
-- and the same schema then works for lake catalogues, which have no keys.
-- This is schema 12, the oldest that is read. Later changes are steps in data/store/migrations/.

-- A set of questions, with what a reader must know about it.
create table datasets (
    dataset     varchar not null,   -- id, [a-z0-9-]+
    position    integer not null,   -- order of first import; the first one is what a page shows by default
    title       varchar not null,
    kind        varchar not null,   -- incremental, single, lifeeval or votes
    licence     varchar,
    source      varchar,
    simulated   boolean not null,   -- true: a banner appears wherever its data is shown
    note        varchar,            -- for simulated data: what exactly is simulated
    classes     varchar[],          -- order of the classes in `options` and votes
    content     varchar not null,   -- sha256 of the questions and clues: distinguishes "the same again" from "other questions"
    head_to_head boolean default false  -- whether at most one team in a room can be right
);

-- The state that a dataset is in; see data/store/cache_validity_tokens.py.
create table revisions (
    dataset     varchar not null,
    revision    varchar not null,   -- renewed by each change to the dataset, its people or its runs; never reused
    base        varchar not null    -- the same, except that new runs and withdrawals do not renew it
);

create table questions (
    dataset           varchar not null,
    question_id       varchar not null,
    position          integer not null,  -- order in the file it came from
    text              varchar,           -- the clues, joined
    answer            varchar,           -- answer line, with what to accept and prompt on
    category          varchar,
    subcategory       varchar,
    sex               varchar,           -- LifeEval: male or female
    minimum_age       integer,           -- LifeEval: the person has lived at least this many years
    radius            integer,           -- LifeEval: the answer counts as correct within this many years
    clues             integer not null,  -- T, at least 1
    given_difficulty  double,            -- as the dataset states it (LifeEval: 1 - MAS), in [0, 1]
    difficulty        double,            -- the one in use
    difficulty_source varchar            -- given, rooms (1 - share of rooms that answered it), human (1 - share of human teams
                                         -- right) or runs (1 - mean accuracy)
);

-- A clue is a prefix of its question: `text` is what it adds, `word_end` the words revealed at its end.
create table clues (
    dataset     varchar not null,
    question_id varchar not null,
    clue        integer not null,   -- 0-based
    text        varchar,
    word_end    integer not null,
    char_end    integer not null,   -- characters of questions.text revealed at its end
    revealed    double  not null    -- fraction of the question revealed at its end, in (0, 1]
);

-- Who heard a question, in which match, and how far.
create table exposures (
    dataset     varchar not null,
    question_id varchar not null,
    match_id    varchar not null,
    team        varchar not null,
    team_kind   varchar not null,   -- human or model; models are never part of a human curve
    heard_words integer,            -- null: to the end
    ended_by    varchar             -- the team whose correct answer ended it, or null
);

create table buzzes (
    dataset     varchar not null,
    question_id varchar not null,
    match_id    varchar not null,
    team        varchar not null,
    team_kind   varchar not null,
    word        integer not null,   -- 0-based; the number of words = after the end
    clue        integer not null,   -- the first clue with word_end > word
    correct     boolean not null,
    guess       varchar
);

create table votes (
    dataset     varchar not null,
    question_id varchar not null,
    class       varchar not null,
    votes       integer not null
);

-- The human curves h_t, in [0, 1], computed from exposures and buzzes; no rows where no human team heard the question.
create table curves (
    dataset     varchar not null,
    question_id varchar not null,
    clue        integer not null,
    teams       integer not null,   -- human exposures
    buzz_share  double,             -- correct human buzzes so far / all human buzzes
    team_share  double,             -- human teams right so far / human teams that heard the question
    survival    double,             -- Aalen-Johansen incidence of a correct buzz
    release_share double            -- correct human buzzes so far / all human buzzes on the question, as in GRACE's released code
);

-- One model with one confidence elicitation over one dataset. Never changed once it is there; `withdrawn_at` only marks it.
create table runs (
    run           varchar not null, -- first 16 hex digits of sha256
    dataset       varchar not null,
    position      integer not null, -- order of import, which fixes its colour
    model         varchar not null,
    elicitation   varchar not null,
    sha256        varchar not null, -- of the normalised rows, the dataset, the model and the elicitation
    file_name     varchar,
    imported_at   timestamp not null,
    imported_by   varchar,          -- name of the token, or null for the command line
    items         bigint  not null,
    questions     integer not null,
    missing_questions integer not null,
    skipped       varchar,          -- JSON: reason -> rows that the model failed to answer
    decisions     varchar,          -- JSON: what the analyst decided about guesses whose correctness the file does not state
    withdrawn_at  timestamp,
    withdrawn_by  varchar,          -- name of the token, or null
    failed        bigint default 0, -- failed calls; counted neither as items nor as questions
    samples       integer default 1, -- answers to a clue
    respondents   boolean default false  -- whether these come from respondents
);

-- The responses, grades and statistics of runs are Parquet files.
create table objects (
    kind    varchar not null,       -- responses, statistics or, for a further grading, grades.NAME and statistics.NAME
    dataset varchar not null,
    run     varchar not null,
    form    integer not null,       -- which columns the file has
    name    varchar not null,       -- path under the folder of objects; never reused
    rows    bigint not null,
    bytes   bigint not null,
    sha256  varchar not null
);

-- Where difficulty comes from runs: over those that are not withdrawn, as integers, so that it adds up in any order.
create table accuracies (
    dataset     varchar not null,
    question_id varchar not null,
    runs        integer not null,   -- that answered the question
    correct     hugeint not null    -- sum of their shares of items that are correct, in units of 2^-52
);

create table gradings (
    dataset  varchar not null,
    run      varchar not null,
    name     varchar not null,      -- for addresses: [a-z0-9-]+
    position integer not null,      -- 0: the grading of the run's responses themselves
    source   varchar not null,      -- import, column (of the file), rules (of Clueline) or review
    added_at timestamp,             -- null: it came with its run
    added_by varchar
);

-- What reviewers decided, in the order of their decisions. Rows are added and never changed.
create table corrections (
    dataset      varchar not null,
    run          varchar not null,
    number       integer not null,  -- of the run, from 1; of several that cover a response, the greatest counts
    question_id  varchar not null,
    clue         integer,           -- null: every clue at which the run gave this guess
    guess        varchar,
    correct      double,            -- null: no longer corrected
    corrected_at timestamp not null,
    corrected_by varchar,           -- name of the token, or system:NAME for the command line
    note         varchar
);

-- Facts about models that files of responses do not state, such as whether they reason.
create table tags (
    dataset varchar not null,
    run     varchar not null,
    tag     varchar not null,       -- at most one row of a run and a tag
    value   varchar not null
);

-- What the file of questions states in addition to the columns that Clueline knows, such as a language.
create table attributes (
    dataset     varchar not null,
    question_id varchar not null,
    attribute   varchar not null,   -- at most one row of a question and an attribute
    value       varchar not null
);

-- The same for files of responses, such as the prompt.
create table response_attributes (
    dataset   varchar not null,
    run       varchar not null,
    attribute varchar not null,
    value     varchar,              -- null: the run has too many values of it to choose from
    responses bigint not null       -- of the run, with this value; of any, where it is null
);

create table schema_version (version integer);
insert into schema_version values (12);
