"""Coterie: federated learning and training on the device, over the C interface of libcoterie.

    import coterie
    model = coterie.Model.load("model.cotf").train((images, labels), epochs=3)

Model, Dataset and Trainer train here; Client takes part in federated rounds as a device; Admin asks a server's operators'
plane; simulate trains a job over virtual devices. docs/PYTHON.md of the project has the rest.
"""
from ._admin import Admin, AdminError, Event
from ._client import Activity, Client, ClientProgress, Identity, Refusal
from ._conditions import Conditions, Hold, Requirements, Thermal
from ._csv import CsvEncoding
from ._dataset import Dataset
from ._errors import ClosedError, Code, CoterieError, InvalidArgument
from ._find import VERSION as __version__
from ._library import lib as _lib
from ._model import Evaluation, FineTuning, Model, TensorInfo
from ._options import TrainOptions
from ._policy import Policy, SecurityLevel
from ._simulate import simulate
from ._simulation import SimulatedRound, Simulation
from ._trainer import EpochProgress, Head, TrainMemory, TrainProgress, Trainer, WatchHit, WatchReport

library_version: str = _lib.coterie_version().decode()

__all__ = ["Activity", "Admin", "AdminError", "Client", "ClientProgress", "ClosedError", "Code", "Conditions",
           "CoterieError", "CsvEncoding", "Dataset", "EpochProgress", "Evaluation", "Event", "FineTuning", "Head", "Hold",
           "Identity", "InvalidArgument", "Model", "Policy", "Refusal", "Requirements", "SecurityLevel", "SimulatedRound",
           "Simulation", "TensorInfo", "Thermal", "TrainMemory", "TrainOptions", "TrainProgress", "Trainer",
           "WatchHit", "WatchReport", "__version__", "library_version", "simulate"]
