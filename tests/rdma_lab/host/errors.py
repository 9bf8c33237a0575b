"""What keeps a command from running in the lab."""


class LabError(Exception):
    """The lab did not come up."""

    status = 125


class CannotRun(LabError):
    """Nothing that a second try could change: this machine lacks what the lab needs."""

    status = 77

    def __init__(self, reason):
        super().__init__(f"SKIPPED: cannot run here: {reason}")


class TimedOut(LabError):
    status = 124
