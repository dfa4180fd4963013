"""Wait for what happens in another thread or process."""

import time


def wait_until(condition, *, seconds=30):
    """Return when the condition holds; fail where it does not in so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not so within {seconds} seconds"
        time.sleep(0.02)
