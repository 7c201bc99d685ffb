import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def clean_figures():
    with mpl.rc_context():
        yield
        plt.close("all")
