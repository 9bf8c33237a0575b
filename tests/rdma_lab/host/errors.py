"""What keeps a command from running in the lab, and the exit status that says so."""


class LabError(Exception):
    """The lab did not come up."""

    status = 125
    kind = ""


class CannotRun(LabError):
    """Nothing that a second try could change: this machine lacks what the lab needs."""

    status = 77
    kind = "SKIPPED: this machine cannot run the lab: "


class TimedOut(LabError):
    status = 124
