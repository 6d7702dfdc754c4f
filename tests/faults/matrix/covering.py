"""The tests that cover each case: words that only its title has, and the tests by file and name.

A case without a row is covered by its pairs. A test is here for what it shows, not for its name.
"""

from tests.faults.matrix.cases import Case

_CHOICE, _STATUS = "scoring/test_choice.py", "scoring/test_choice_status.py"
_READ = f"{_CHOICE}::test_a_reply_is_read_as_its_row_says"
_CONTAINS, _VQA = "scoring/test_containment.py", "scoring/test_vqa_accuracy.py"
_ENDPOINT, _WAITS = "faults/test_endpoint.py", "faults/test_endpoint_waits.py"
_TRANSPORT, _ADDRESSES = "faults/test_transport.py", "faults/test_addresses.py"
_IMAGES, _DATA, _REPORT = "faults/test_images.py", "faults/test_data.py", "faults/test_report.py"
_RESUME, _KILLED, _DISKS = "faults/test_resume.py", "faults/test_killed_runs.py", "faults/test_disks.py"
_CLI, _BOUNDS, _SECRETS = "faults/test_cli.py", "faults/test_bounds.py", "faults/test_secrets.py"
_CHECK = "client/check"

COVERED: dict[str, tuple[str, ...]] = {
    # parsing
    "mentioned after the stated answer": (_READ,),
    "of the word Answer/Antwort": (_READ,),
    "Prefix match accepts": (_READ,),
    "parentheses around the letter": (_READ,),
    "copied or weighed": (_READ,),
    "Budget-limited replies": (
        f"{_STATUS}::test_a_reply_cut_off_before_its_answer_is_truncated",
        f"{_REPORT}::test_both_accuracies_and_every_reason_are_in_the_report",
    ),
    "silently becomes a guess": (
        _READ,
        f"{_REPORT}::test_a_model_that_can_not_see_scores_nothing_and_never_a_quarter",
    ),
    "read letter by letter": (f"{_STATUS}::test_finding_no_answer_is_not_a_refusal",),
    "Lower-case letters rejected": (_READ,),
    "the text of a choice": (_READ,),
    "nested in another choice": (f"{_CHOICE}::test_two_choices_with_one_text_are_ambiguous",),
    "content, not labels": (_READ,),
    "More than four options": (_READ,),
    "Several letters offered": (_READ,),
    "placeholder echoed": (_READ,),
    "stricter than a lenient one": (
        "scoring/test_choice_published.py::test_longbench_reads_its_own_sentence_only",
        "tasks/test_mc.py::test_every_score_has_all_three_parsers",
    ),
    "sits in reasoning field": (
        f"{_STATUS}::test_an_answer_in_the_reasoning_counts_if_the_model_stopped",
        "client/test_wire.py::test_reasoning_is_read_from_every_field",
    ),
    # scoring
    "found inside": (_CONTAINS,),
    "destroys decimals": (_CONTAINS,),
    "Units, percent": (_CONTAINS,),
    "normalises to ''": (_CONTAINS,),
    "Empty gold answer": ("tasks/test_niah.py::test_a_needle_without_an_answer_is_left_out_and_named",),
    "smart quotes": (_CONTAINS,),
    "dumps many candidates": (
        _CONTAINS,
        "tasks/test_niah.py::test_the_headline_is_containment_with_the_strict_score_beside_it",
        "tasks/test_niah.py::test_numbers_in_a_reply_are_counted",
    ),
    "--case_sensitive must change": (_CONTAINS, "tasks/test_niah.py::test_case_counts_only_when_asked"),
    "matched as substrings": ("scoring/test_vqa2.py",),
    "Contractions never": ("scoring/test_vqa2.py",),
    "Non-answers earn": (
        "tasks/test_vqa2.py::test_a_reply_without_an_answer_has_a_status_and_a_score_of_0",
        "answers/test_annotated.py::test_the_non_standard_metrics_have_a_note",
    ),
    "leave-one-out sets": (_VQA,),
    "Unanimous references": (_VQA, "answers/test_annotated.py::test_the_gap_and_its_causes_are_reported"),
    "Normaliser applied twice": ("scoring/test_vqa_normalise.py",),
    "Sentence answers": ("answers/test_annotated.py::test_sentences_have_a_note_and_score_by_containment",),
    "than ten references": (_VQA, "answers/test_annotated.py::test_questions_without_ten_answers_have_a_note"),
    # endpoint
    "200 with an error object": (
        f"{_ENDPOINT}::test_an_error_in_the_body_of_a_success_is_asked_again",
        f"{_ENDPOINT}::test_an_error_in_the_body_of_a_success_ends_as_what_its_code_says",
    ),
    "HTML page from a proxy": (
        f"{_ENDPOINT}::test_a_success_that_is_not_a_completion_is_a_bad_response_that_names_what_was_received",
        f"{_ENDPOINT}::test_a_gateways_page_is_a_passing_fault",
        f"{_ENDPOINT}::test_one_glitch_of_a_success_is_repeated",
    ),
    "too many images retried": (
        f"{_ENDPOINT}::test_a_question_too_long_for_the_server_is_asked_once_and_named",
        f"{_ENDPOINT}::test_a_document_of_too_many_pages_is_asked_once_and_named",
    ),
    "Everything fails": (
        f"{_WAITS}::test_a_run_in_which_nothing_is_answered_stops_early_without_an_accuracy",
        f"{_WAITS}::test_no_number_is_printed_where_nothing_was_answered",
        "reports/test_accuracy_grid.py::test_a_run_without_a_reply_has_no_entry",
    ),
    "429 with Retry-After": (
        f"{_WAITS}::test_every_form_of_a_wish_to_wait_is_honoured",
        f"{_WAITS}::test_a_wish_that_says_nothing_means_our_own_waits_and_counts_as_a_retry",
        f"{_WAITS}::test_a_long_wish_stops_all_workers_says_so_and_loses_no_question",
        f"{_TRANSPORT}::test_a_storm_of_rate_limits_sends_at_most_twice_the_questions",
    ),
    "while the model loads": (
        f"{_WAITS}::test_a_server_that_loads_its_model_costs_no_question",
        f"{_WAITS}::test_a_server_that_refuses_connections_at_first_costs_no_question",
        f"{_WAITS}::test_a_wait_that_was_vain_is_one_message_and_exit_code_3",
    ),
    "Error bodies of many shapes": (
        f"{_ENDPOINT}::test_an_error_says_the_same_in_every_shape",
        f"{_ENDPOINT}::test_the_body_of_an_error_is_kept_beside_its_message",
    ),
    "Over-size body": (f"{_ENDPOINT}::test_a_body_too_large_for_a_gateway_is_reported_and_not_sent_forever",),
    "usage missing": (f"{_ENDPOINT}::test_token_counts_that_a_server_leaves_out_are_unknown_and_not_zero",),
    "rejected by newer hosted": (
        f"{_WAITS}::test_a_parameter_that_a_server_wants_by_another_name_is_renamed_once_and_recorded",
        f"{_WAITS}::test_what_is_not_set_is_not_sent",
    ),
    "drops the image": (
        f"{_ENDPOINT}::test_a_server_that_never_looks_at_the_images_is_doubted_once",
        f"{_CHECK}/test_whole_checks.py::test_a_blind_server_is_unusable",
        "runs/test_check_before.py::test_a_blind_server_is_found_before_the_first_question",
    ),
    "finish_reason missing": (
        f"{_ENDPOINT}::test_a_reply_without_a_finish_reason_is_kept_and_none_is_invented",
        f"{_ENDPOINT}::test_every_word_for_a_cut_reply_counts_as_cut",
        f"{_ENDPOINT}::test_a_reply_of_no_text_that_did_not_stop_by_itself_is_a_bad_response",
    ),
    # transport
    "Trickling response": (f"{_TRANSPORT}::test_a_reply_that_never_ends_costs_its_deadline_and_no_more",),
    "PoolTimeout": (f"{_TRANSPORT}::test_more_workers_than_any_default_pool_all_get_a_connection",),
    "select limits": (
        f"{_BOUNDS}::test_a_hard_limit_of_open_files_takes_workers_and_no_question",
        f"{_BOUNDS}::test_a_soft_limit_of_open_files_is_raised",
    ),
    "eat the pool": (f"{_TRANSPORT}::test_cancelled_requests_leave_the_pool_whole",),
    "idle keep-alive": (
        f"{_TRANSPORT}::test_a_connection_that_the_server_closed_meanwhile_costs_no_retry_and_every_request_is_counted",
        f"{_TRANSPORT}::test_no_idle_connection_is_kept_as_long_as_servers_keep_theirs",
    ),
    "HTTP_PROXY breaks": (
        f"{_ADDRESSES}::test_no_proxy_is_ever_asked_for_this_machine",
        f"{_ADDRESSES}::test_a_server_elsewhere_is_reached_through_the_proxy",
    ),
    "NO_PROXY forms": (
        "client/test_addresses.py::test_every_form_of_no_proxy_is_read",
        "client/test_addresses.py::test_a_socks_proxy_without_support_names_its_variable",
    ),
    "base_url with": (
        "client/test_addresses.py::test_every_form_of_an_address_means_the_same_places",
        f"{_ADDRESSES}::test_both_places_of_the_chats_are_found_from_an_address",
        f"{_ADDRESSES}::test_a_prefix_is_kept",
    ),
    "IPv6 first": (
        f"{_ADDRESSES}::test_localhost_is_reached_at_whichever_address_it_listens",
        f"{_ADDRESSES}::test_an_ipv6_address_is_taken_as_people_write_it",
    ),
    "Self-signed": (
        f"{_ADDRESSES}::test_a_private_authority_is_trusted_when_it_is_named",
        f"{_ADDRESSES}::test_an_unknown_authority_is_named_at_once",
        f"{_ADDRESSES}::test_an_unverified_server_is_warned_of_and_recorded",
    ),
    "Event loop is closed": (
        "faults/test_api.py::test_many_runs_in_one_process_leave_nothing_behind",
        "faults/test_api.py::test_a_failed_run_can_be_followed_by_a_good_one",
    ),
    "times our retries": (f"{_TRANSPORT}::test_a_question_is_sent_once_and_once_for_each_retry",),
    "differ by transport": (f"{_TRANSPORT}::test_every_fault_of_the_wire_has_one_name_whatever_library_carries_it",),
    "blocks the event loop": (
        f"{_BOUNDS}::test_large_photographs_that_are_shrunk_never_block_the_loop",
        f"{_BOUNDS}::test_large_files_that_are_sent_unchanged_never_block_the_loop",
    ),
    # images
    "hard-coded MIME": (
        f"{_IMAGES}::test_the_bytes_decide_what_an_image_is_and_not_its_name",
        f"{_IMAGES}::test_a_format_that_not_every_server_takes_is_sent_as_one_that_all_take",
    ),
    "EXIF orientation": (
        f"{_IMAGES}::test_every_orientation_arrives_upright_and_untagged",
        "images/corruptions/test_any_shape.py::test_a_turned_photograph_is_corrupted_upright",
    ),
    "16-bit greyscale": (f"{_IMAGES}::test_sixteen_bits_become_eight_by_scaling_and_not_by_clipping",),
    "empty or non-image": (
        f"{_IMAGES}::test_a_broken_file_is_one_record_and_never_a_request",
        f"{_IMAGES}::test_a_run_with_a_broken_image_exits_with_1_and_names_it",
    ),
    "encoded before the first": (
        f"{_BOUNDS}::test_memory_does_not_grow_with_the_number_of_questions",
        f"{_IMAGES}::test_no_image_is_ever_in_a_record_or_a_report",
    ),
    "page_10 sent": (f"{_IMAGES}::test_pages_come_in_the_order_of_their_numbers", "images/test_page_index.py"),
    "matching id wrong": (
        f"{_IMAGES}::test_a_document_gets_only_its_own_pages",
        f"{_IMAGES}::test_pages_beyond_the_servers_limit_are_never_cut_in_silence",
    ),
    "Silent downscaling": (
        f"{_IMAGES}::test_a_shrunk_picture_says_so_and_keeps_both_digests",
        f"{_IMAGES}::test_the_size_in_pixels_of_what_was_sent_is_in_the_record",
        f"{_CHECK}/test_pictures.py::test_tokens_that_no_longer_grow_show_shrunk_images",
    ),
    # data
    "BOM or platform": (
        f"{_DATA}::test_every_encoding_of_a_data_file_asks_the_same",
        f"{_DATA}::test_no_locale_changes_what_is_read_or_written",
    ),
    "Braces in question": (
        f"{_DATA}::test_only_the_two_placeholders_are_replaced_and_only_once",
        f"{_DATA}::test_a_template_that_can_not_be_filled_is_named_before_anything_is_asked",
    ),
    "wrong question": (
        f"{_DATA}::test_two_hundred_replies_in_any_order_stay_with_their_questions",
        f"{_DATA}::test_the_order_of_the_report_is_that_of_the_data_for_any_number_of_workers",
    ),
    "unlabeled test split": (
        "tasks/explain/test_explain_loading.py::test_a_missing_file_is_named_with_the_layout",
        "runs/test_vqa2_runs.py::test_an_unlabelled_split_is_asked_and_submitted_without_an_accuracy",
        "tasks/test_vqa2_load.py::test_the_splits_that_are_there_are_listed",
    ),
    "different question sets": (
        "runs/test_vqa2_runs.py::test_every_mismatch_of_the_two_files_is_counted",
        "answers/test_annotated.py::test_questions_of_one_file_alone_are_counted_named_and_not_scored",
    ),
    "Entailment labels": ("scoring/explained_answer/test_entailment.py",),
    "because <explanation>": ("scoring/explained_answer/test_phrase.py",),
    "Majority vote ties": (
        "scoring/explained_answer/test_normalise.py",
        "tasks/explain/test_explain_loading.py::test_a_tied_majority_is_the_same_in_any_order_and_flagged",
    ),
    "U+2028": (
        f"{_DATA}::test_no_character_of_a_text_ever_ends_a_record",
        "test_records.py::test_records_come_back_equal_whatever_line_ends_a_reply_holds",
    ),
    # report
    "dropped from or folded": (
        f"{_REPORT}::test_both_accuracies_and_every_reason_are_in_the_report",
        f"{_REPORT}::test_both_accuracies_and_every_reason_are_printed",
    ),
    "NaN or ZeroDivisionError": (
        f"{_REPORT}::test_a_group_without_questions_has_no_accuracy",
        f"{_REPORT}::test_a_run_of_nothing_exits_with_0",
        "test_json_stream.py::test_no_nan_and_no_infinity_reach_a_file",
    ),
    "missing metadata values": (
        f"{_REPORT}::test_a_value_that_is_missing_or_new_is_a_group_like_any_other",
        f"{_REPORT}::test_needles_without_depth_length_or_context_are_counted_as_unknown",
    ),
    "Best-so-far grid": (
        "reports/test_accuracy_grid.py::test_the_larger_n_wins_and_at_equal_n_the_better_accuracy",
        "reports/test_accuracy_grid.py::test_runs_under_other_conditions_never_share_a_cell",
    ),
    "broken by newlines": (
        "exports/test_tables.py::test_hostile_texts_come_back_from_csv",
        "exports/test_tables.py::test_only_formulas_are_marked_where_that_is_asked_for",
        "reports/test_explain_csv.py",
        "security/test_tables.py",
    ),
    # resume
    "lost on a crash": (
        f"{_KILLED}::test_a_run_killed_at_random_points_ends_in_the_bytes_of_one_that_was_not",
        "soak/test_soak.py",
    ),
    "Half-written last line": (f"{_RESUME}::test_a_torn_log_loses_what_was_torn_and_nothing_else",),
    "another model or prompt": (
        f"{_RESUME}::test_answers_of_another_run_are_never_reused",
        f"{_RESUME}::test_another_model_exits_with_2_and_a_line_for_each_field",
        f"{_RESUME}::test_another_parser_or_flag_scores_again_without_a_request",
    ),
    "different weights": (
        f"{_RESUME}::test_another_served_model_is_another_run",
        f"{_RESUME}::test_a_page_of_the_same_size_with_other_bytes_is_asked_again",
    ),
    "counted as done": (
        f"{_RESUME}::test_what_failed_for_a_while_is_asked_again_and_what_failed_permanently_on_request",
        "faults/test_servers_that_stop.py::test_what_stopped_a_run_settles_no_question_and_the_same_command_asks_all",
    ),
    # command line
    "Ctrl-C hangs": ("faults/test_interrupts.py",),
    "Broken pipe": (
        f"{_DISKS}::test_a_reader_that_leaves_costs_neither_a_traceback_nor_the_report",
        f"{_DISKS}::test_a_full_disk_is_one_message_and_every_whole_record_stays",
        f"{_DISKS}::test_a_disk_that_really_fills_up_is_one_message_too",
    ),
    "floods CI logs": (
        f"{_CLI}::test_a_log_file_gets_few_plain_lines",
        f"{_CLI}::test_machine_output_is_alone_on_standard_output",
        "cli/test_displays.py::test_a_slow_run_still_prints_lines",
    ),
    "Console encoding": (f"{_CLI}::test_a_server_s_words_are_printed_on_every_console",),
    "parsed as rich markup": (
        f"{_CLI}::test_foreign_text_is_shown_and_neither_read_as_markup_nor_obeyed",
        f"{_CLI}::test_paths_and_names_in_brackets_are_printed_whole",
    ),
    "API key in results": (_SECRETS, "security/test_keys.py"),
    "Model name in file names": (
        f"{_CLI}::test_a_models_name_names_no_file_and_is_kept_as_it_is",
        "reports/test_names.py",
        "security/test_paths.py",
    ),
    "inside a running loop": ("faults/test_api.py::test_a_running_loop_is_no_obstacle",),
    # robustness
    "breaks with new numpy": ("images/corruptions/test_golden.py", "images/corruptions/test_table.py"),
    "Fixed 224x224": ("images/corruptions/test_any_shape.py",),
    "Global random state": ("images/corruptions/test_seeds.py",),
    "zero clean error": ("scoring/test_robustness.py",),
    # serving
    "other requests' answers": (
        "client/test_wires.py::test_bytes_after_a_reply_are_never_read_for_the_next_question",
        f"{_CHECK}/test_canary.py",
        f"{_CHECK}/test_whole_checks.py",
    ),
    "Engine dead": (
        f"{_WAITS}::test_a_server_that_dies_later_stops_the_run_too_and_the_same_command_goes_on",
        f"{_CHECK}/test_whole_checks.py::test_a_running_server_that_completes_nothing_is_unusable",
    ),
    "differ in routes": (f"{_CHECK}/test_wire_samples.py", "fakes/test_fault_dialects.py"),
    "one per prompt": (
        "cli/test_serve.py::test_a_dry_run_covers_the_longest_document",
        f"{_CHECK}/test_whole_checks.py::test_a_server_that_takes_one_image_is_reported",
    ),
    "grows with each new image": (
        "client/test_server_memory.py",
        "reports/test_drift.py",
        "html/test_limits.py::test_a_server_that_became_slower_or_larger_is_shown",
    ),
}


def held_by(case: Case) -> tuple[str, ...]:
    """The tests that cover a case, by pytest's names; none if its part isn't built."""
    rows = [tests for words, tests in COVERED.items() if words in case.title]
    return tuple(f"tests/{test}" for test in rows[0]) if rows else ()
