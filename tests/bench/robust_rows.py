"""./bench robust: rules that take the place of a round's mean, beside a reference, while a fifth of the devices lies.

The reference is federated_setting.py's: 25 devices a round, one epoch, 40 rounds, updates count the same, and rules know of
5 liars. It has two partitions of Dirichlet(1) and of Dirichlet(0.1), of which the second makes devices differ much.
"""
import pathlib
import statistics
import tempfile

from federated_setting import PARTITIONS, Case, absent, inputs, is_there, job_of, last_ten, simulate
from rows import verdict

ROUNDS, COHORT, LIARS, SHARE, SEED = 40, 25, 5, .2, 1
WITHIN = .02
ALPHAS = ("1", "0.1")
ATTACKS = ("none", "label_flip", "sign_flip", "gaussian", "alie", "ipm")
WITHOUT_REFERENCE = ("replacement", "free_rider")
OF_LIARS = {"liars_max": LIARS}

# The rule, the job's fields, and the reference's accuracies by attack, in the order of ATTACKS.
RULES = {
    "mean": ({}, {"1": (.898, .876, .096, .883, .892, .887), "0.1": (.859, .823, .111, .836, .836, .838)}),
    "mean, clip_l2 1": ({"update": {"clip_l2": 1.0}},
                        {"1": (.898, .884, .863, .891, .892, .888), "0.1": (.858, .832, .790, .850, .832, .837)}),
    "centred_clip": ({"aggregation": {"rule": "centred_clip", "radius": 1.0}},
                     {"1": (.899, .885, .868, .896, .892, .888), "0.1": (.859, .835, .801, .861, .833, .838)}),
    "geometric_median": ({"aggregation": {"rule": "geometric_median", "iterations": 3}},
                         {"1": (.896, .892, .881, .896, .891, .849), "0.1": (.844, .832, .800, .843, .818, .649)}),
    "multi_krum": ({"aggregation": {"rule": "multi_krum", **OF_LIARS}},
                   {"1": (.894, .897, .897, .897, .889, .871), "0.1": (.821, .846, .854, .860, .631, .712)}),
    "trimmed_mean": ({"aggregation": {"rule": "trimmed_mean", **OF_LIARS}},
                     {"1": (.892, .882, .873, .892, .881, .857), "0.1": (.803, .773, .758, .823, .728, .644)}),
    "median": ({"aggregation": {"rule": "median"}},
               {"1": (.883, .868, .858, .884, .851, .802), "0.1": (.737, .703, .659, .732, .617, .425)}),
    "bulyan": ({"aggregation": {"rule": "bulyan", **OF_LIARS}},
               {"1": (.858, .869, .872, .875, .841, .658), "0.1": (.622, .639, .667, .653, .529, .092)}),
    "krum": ({"aggregation": {"rule": "krum", **OF_LIARS}},
             {"1": (.797, .804, .794, .806, .792, .674), "0.1": (.466, .468, .443, .465, .436, .121)}),
}


def settings_of(fields):
    settings = job_of(Case("", None, weight_max=1), rounds=ROUNDS, goal_count=COHORT, local_epochs=1)
    settings["rounds"]["goal_count_min"] = COHORT
    return {**settings, **{name: {**settings.get(name, {}), **value} for name, value in fields.items()}}


def row_of(folder, alpha, attack, rule, fields, reference):
    # As the reference has it, a fifth of each round lies, always others: all devices' data are in the model.
    lies = () if attack == "none" else ("--attack", f"{attack}:{SHARE},drawn")
    runs = [last_ten(simulate(folder, settings_of(fields), *inputs(folder, partition, alpha), *lies, "--seed", SEED)[1])
            for partition in PARTITIONS]
    mean = statistics.mean(runs)
    row = {"bench": "robust", "alpha": alpha, "attack": attack, "rule": rule, "accuracy": mean, "runs": runs, "reference": reference}
    is_compared = reference is not None
    return row, (f"Dirichlet({alpha}), {attack}, {rule}", f"{mean:.3f} ({', '.join(f'{run:.3f}' for run in runs)})",
                 f"reference {reference:.3f}" if is_compared else "no stored reference", f"goal within {WITHIN}" if is_compared else "",
                 verdict(abs(mean - reference) <= WITHIN) if is_compared else "")


def robust():
    if not is_there():
        yield absent("rules that withstand lies")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for alpha in ALPHAS:
            for rule, (fields, references) in RULES.items():
                for attack, reference in zip(ATTACKS, references[alpha]):
                    yield row_of(folder, alpha, attack, rule, fields, reference)
                for attack in WITHOUT_REFERENCE if alpha == "0.1" else ():
                    yield row_of(folder, alpha, attack, rule, fields, None)
