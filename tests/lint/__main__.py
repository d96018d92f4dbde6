# Rules about what is written here that need what is declared, or more than ruff and shellcheck
# know: a function a rule, which yields a line per fault. `make lint` runs all of them.

import sys

from lint import circles, declared, pages, reference, rows, scripts, suite, words

RULES = (
    circles.circles,
    circles.circles_of_the_package,
    circles.names_are_loaded_in_one_place,
    declared.columns_are_whole,
    declared.definitions_differ,
    declared.questions_are_whole,
    pages.sentences_are_short,
    pages.readme_is_one_page,
    reference.files_are_what_is_declared,
    reference.every_question_is_in_them,
    reference.figures_lead_to_their_code,
    rows.rows_are_read_in_one_place,
    scripts.scripts_are_plain_sh,
    scripts.no_path_is_split,
    scripts.arithmetic_waits_for_no_command,
    scripts.ends_are_trapped_in_one_place,
    scripts.help_names_every_profile,
    scripts.programs_write_numbers_with_a_point,
    scripts.profiles_hold_pairs_and_known_events,
    scripts.the_kit_names_no_page_of_the_repository,
    suite.no_test_asserts_a_sentence,
    suite.planted_faults_fit,
    words.words_compute_nothing,
    words.templates_compute_nothing,
    words.templates_escape_once,
    words.templates_point_at_no_place_of_a_page,
)

if __name__ == "__main__":
    found = [fault for rule in RULES for fault in rule()]
    print("\n".join(found) or f"What is written here keeps to {len(RULES)} rules.")
    sys.exit(bool(found))
