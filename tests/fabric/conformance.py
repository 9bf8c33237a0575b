"""tests/conformance over the adapter of one host: both ends of a connection are the same port."""

from job import Job, program


def conformance():
    command = [program("bin/conformance_test"), "--gtest_filter=*/verbs", "--gtest_brief=1", "--gtest_color=no"]
    with Job([], command) as job:
        job.end(r"\[  PASSED  \] [1-9][0-9] tests", seconds=120, reject=[r"\[  FAILED  \]"])
