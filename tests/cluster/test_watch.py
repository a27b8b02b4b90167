"""A bucket that is watched."""

from functools import partial

import obstore

from clueline.dashboard.uploads.import_process import run_job
from clueline.dashboard.uploads.watching import Watch, watched_files
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.s3_files import open_bucket

TABLE = "id,prompt,gold,prediction,p_true,judge\nq1,Which?,Nile,the Nile,0.91,C\nq2,Where?,Rome,Paris,0.4,I\nq3,Who?,x,z,0.2,I\n"


def test_files_of_a_bucket_go_in_once(s3, tmp_path):
    bucket, store = s3.new_bucket(), open_store(tmp_path / "store")
    obstore.put(open_bucket(f"{bucket}/logs"), "deep/results.csv", TABLE.encode())
    obstore.put(open_bucket(bucket), "elsewhere.csv", TABLE.encode())
    for expected in ([[], ["deep/results.csv"], []], [[], []]):  # the second time after a restart
        watched = Watch(store, f"{bucket}/logs", partial(run_job, store=store), ImportOptions())
        assert [[name for name, _ in watched.look()] for _ in expected] == expected
    assert [file.state for file in watched_files(store).values()] == ["imported"]
    assert store.snapshot().rows("select items from runs") == [(3,)]
