/* One variable of each type that both sides share, so that their layouts stand in the BTF. */
#include "bpf/shared/control.h"
#include "bpf/shared/events.h"
#include "bpf/shared/unwind_table.h"

struct profd_event event;
struct profd_clock thread_clock;
struct profd_clock_event clock_event;
struct profd_cpu_place cpu_place;
struct profd_sample_event* sample_event;
struct profd_task_event* task_event;
struct profd_mmap_event* mmap_event;
struct profd_process_event* process_event;
struct profd_session_event* session_event;
struct profd_periods_event* periods_event;
struct profd_label_process_event* label_process_event;
struct profd_label_process label_process;
struct profd_label_head label_head;
struct profd_counters_event* counters_event;
struct profd_python_process_event* python_process_event;
struct profd_python_code_event* python_code_event;
struct profd_python_process python_process;
struct profd_python_runtime_key python_runtime_key;
struct profd_constants constants;
struct profd_pass pass;
struct profd_control control;
struct profd_filter filter;
struct profd_filter_id filter_id;
struct profd_file_key file_key;
struct profd_unwind_file unwind_file;
struct profd_chunk_ref chunk_ref;
struct profd_chunk chunk;
struct profd_unwind_row unwind_row;
struct profd_unwind_rule unwind_rule;
struct profd_beyond_share_event beyond_share_event;
struct profd_step_event* step_event;
struct profd_step_source_event* step_source_event;
struct profd_step_place step_place;
struct profd_switch_event switch_event;
struct profd_wake_event wake_event;
struct profd_pmu_counts pmu_counts;
struct profd_pmu_event pmu_event;
struct profd_share_key share_key;
struct profd_share share;
struct profd_wanted wanted;
