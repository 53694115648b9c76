"""Protocols: a benchmark by its name, as a record.

A record defines which images are queries and which the gallery (`Part`), how often and in which
galleries (trials), under which convention, and how the trials are averaged. Evaluation itself is
that of every other number: there is no other path for a benchmark.
"""
from reid_ref.protocols.boxes import Boxes, read_boxes
from reid_ref.protocols.evaluation import average_trials, evaluate_protocol, evaluate_ranked
from reid_ref.protocols.files import read_protocol
from reid_ref.protocols.person_search import evaluate_person_search
from reid_ref.protocols.record import Exact, Given, Part, Protocol, Rows, Seeded
from reid_ref.protocols.records import PROTOCOLS, find_protocol
from reid_ref.protocols.result import ProtocolResult
from reid_ref.protocols.trials import permuted_galleries, read_trials
from reid_ref.result.means import Expectation

__all__ = ["Boxes", "Exact", "Expectation", "Given", "PROTOCOLS", "Part", "Protocol",
           "ProtocolResult", "Rows", "Seeded", "average_trials", "evaluate_person_search",
           "evaluate_protocol", "evaluate_ranked", "find_protocol", "permuted_galleries",
           "read_boxes", "read_protocol", "read_trials"]
