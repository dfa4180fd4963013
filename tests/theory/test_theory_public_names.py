from botorch_private import theory


def test_public_names_are_sorted_and_importable():
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)


def test_every_public_function_names_its_errors():
    functions = [getattr(theory, name) for name in theory.__all__ if name.islower()]
    assert functions
    for function in functions:
        assert "Raises:" in function.__doc__, function.__name__
