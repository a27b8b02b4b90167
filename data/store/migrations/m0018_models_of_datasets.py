"""Names of models are those of runs on one dataset, so that whoever may not read a dataset sees no part of its models."""

from __future__ import annotations

import duckdb

from clueline.data.store.errors import NeedsMigration
from clueline.data.store.run_files import Objects

# What an earlier version stated of a model, without saying who could see it, and the name that it chose.
STATED = """
    select model, unnest(['organisation', 'released', 'sizes', 'notes']) as fact,
        unnest([organisation, released, sizes, notes]) as value from earlier_models
    union all select model, 'name', model from earlier_models where model not in (select name from earlier_names)"""
ALONE = "select model from model_names group by model having count(distinct name) = 1 except select model from stated_models"
FIRST = "select name, min(model) as first from model_names group by name"
LOST = f"""
    select 1 from model_names join ({FIRST}) using (name) where model > first and model not in ({ALONE})
    union all select 1 from model_facts where needs is null and (fact <> 'name' or value is distinct from name)
    union all select 1 from model_facts join model_names using (name, dataset)
        group by model, fact having count(distinct stated) > 1
    union all select 1 from called group by name having count(*) > 1 limit 1"""


def migrate(connection: duckdb.DuckDBPyConnection, objects: Objects | None) -> None:
    """Give each name a row for each dataset on which runs have it, and state what is known of models of these rows.

    Nobody knows which datasets those could read who merged and described models. So what was stated is shown only to readers of
    all the datasets that the model was on, and the name that a model shares with runs only to readers of these.
    """
    connection.execute(f"""
        create temp table earlier_names as from model_names;
        create temp table earlier_models as select *, row_number() over (order by model)::integer as number from models;
        create temp table earlier_pairs as from distinct_models;
        drop table models; drop table model_names; drop table distinct_models;
        create table model_names (
            name varchar not null,          -- as in runs.model; each is there once for each dataset
            dataset varchar not null,
            model integer not null          -- the same for all names of a model; shown to nobody
        );
        create table model_facts (          -- the last statement of each fact of each row of model_names
            name varchar not null,
            dataset varchar not null,
            fact varchar not null,          -- 'name' is what the model is called
            value varchar,                  -- null removes an earlier one
            stated integer not null,        -- of several statements of a fact, the one with the highest number counts
            needs varchar[]                 -- datasets that one must be able to read, too, to see it; null for none
        );
        create table distinct_models (
            name varchar not null, dataset varchar not null, other varchar not null, other_dataset varchar not null
        );
        insert into model_names
            select distinct n.name, r.dataset, m.number from earlier_names n
            join earlier_models m using (model) join runs r on r.model = n.name order by all;
        insert into model_facts
            select n.name, n.dataset, s.fact, s.value, n.model, d.datasets
            from ({STATED}) s join earlier_models m using (model) join model_names n on n.model = m.number
            join (
                select model, list(distinct dataset order by dataset) as datasets from model_names group by model
            ) d on d.model = n.model
            where s.value is not null order by all;
        insert into model_facts
            select n.name, n.dataset, 'name', n.name, n.model, null
            from model_names n join earlier_models m on n.model = m.number and n.name = m.model
            where m.model in (select model from earlier_names group by model having count(*) > 1) order by all;
        insert into distinct_models
            select p.name, a.dataset, p.other, b.dataset from earlier_pairs p
            join model_names a on a.name = p.name join model_names b on b.name = p.other order by all;
        drop table earlier_names; drop table earlier_models; drop table earlier_pairs""")


def revert(connection: duckdb.DuckDBPyConnection) -> None:
    """Restore the earlier tables, unless models were described or renamed since.

    There, all runs of a name are of one model. So a model of which nothing is known but such a name, as an upload makes it,
    becomes the other model of this name. Refusing it would tell the uploader that there is one.
    """
    connection.execute(f"""
        create temp table stated_models as select model from model_facts join model_names using (name, dataset);
        create temp table later_names as
            select name, dataset, if(model in ({ALONE}), first, model) as model from model_names join ({FIRST}) using (name);
        create temp table called as
            select model, coalesce(max(value), min(n.name)) as name
            from later_names n left join (from model_facts where fact = 'name') f using (name, dataset) group by model""")
    if connection.execute(LOST).fetchone():
        raise NeedsMigration("what is said of models")
    connection.execute("""
        create temp table later_facts as
            select distinct model, fact, value from model_facts join model_names using (name, dataset);
        create temp table later_pairs as select distinct name, other from distinct_models;
        drop table model_names; drop table model_facts; drop table distinct_models;
        create table models (
            model varchar not null,
            organisation varchar,
            released varchar,
            sizes varchar,
            notes varchar
        );
        create table model_names (
            name varchar not null,
            model varchar not null
        );
        create table distinct_models (name varchar not null, other varchar not null);
        insert into models
            select c.name,
                max(f.value) filter (fact = 'organisation'), max(f.value) filter (fact = 'released'),
                max(f.value) filter (fact = 'sizes'), max(f.value) filter (fact = 'notes')
            from called c left join later_facts f using (model) group by c.name order by c.name;
        insert into model_names select distinct n.name, c.name from later_names n join called c using (model) order by all;
        insert into distinct_models from later_pairs;
        drop table called; drop table later_names; drop table later_facts; drop table later_pairs; drop table stated_models""")
