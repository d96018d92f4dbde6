# What the questions of some topics answer about every sample, against what is frozen: the same
# as test_answers_are_as_frozen, of these alone.
#     PYTHONPATH=.:tests python -m support.topic batches devices [--only QUESTION]

import argparse

from netcost_analysis.answers.registry import TOPICS, questions
from support.golden import GOLDEN, differences, told
from support.subjects import SUBJECTS, asked_of
from support.typed import assert_whole

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("topics", nargs="+", choices=TOPICS)
    parser.add_argument("--only", action="append", default=[])
    given = parser.parse_args()
    number = 0
    for subject in SUBJECTS:
        kept = (GOLDEN / "answers" / f"{subject}.txt").read_text()
        sections = {one.partition("\n")[0]: one for one in ("\n" + kept).split("\n== ")[1:]}
        ask = asked_of(subject)
        for name, one in questions().items():
            if one.topic not in given.topics or name not in sections or one.asked_of != ask._own:
                continue
            if given.only and name not in given.only:
                continue
            answer = ask(name)
            assert_whole(answer)
            changed = differences(f"== {sections[name]}".strip(), told(answer).strip())
            number += len(changed)
            for line in changed[:20]:
                print(f"{subject}: {line[:300]}")
    print(f"{number} differences")
