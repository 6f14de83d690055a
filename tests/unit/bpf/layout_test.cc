// Both compilers lay out what the two sides share in the same way, field by field.
#include <bpf/btf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bpf/shared/control.h"
#include "bpf/shared/events.h"
#include "bpf/shared/unwind_table.h"

namespace profd {
namespace {

using Fields = std::map<std::string, std::size_t>;  // name -> offset

struct Layout {
  std::size_t bytes = 0;
  Fields fields;
};

#define AT(type, field) \
  { #field, offsetof(type, field) }

// As C++ sees them. A field that is missing here is found by the other side's list.
std::map<std::string, Layout> CppLayouts() {
  return {
      {"profd_event",
       {sizeof(profd_event),
        {AT(profd_event, kind), AT(profd_event, flags), AT(profd_event, size),
         AT(profd_event, time_ns), AT(profd_event, pid), AT(profd_event, tid),
         AT(profd_event, process_start_ns), AT(profd_event, thread_start_ns),
         AT(profd_event, sessions), AT(profd_event, cpu), AT(profd_event, kept)}}},
      {"profd_clock",
       {sizeof(profd_clock),
        {AT(profd_clock, on_cpu_ns), AT(profd_clock, runnable_ns), AT(profd_clock, blocked_ns),
         AT(profd_clock, on_cpu_count), AT(profd_clock, runnable_count),
         AT(profd_clock, blocked_count), AT(profd_clock, migrations), AT(profd_clock, stolen_ns)}}},
      {"profd_clock_event",
       {sizeof(profd_clock_event),
        {AT(profd_clock_event, event), AT(profd_clock_event, epoch),
         AT(profd_clock_event, epoch_ns), AT(profd_clock_event, begin_ns),
         AT(profd_clock_event, since_ns), AT(profd_clock_event, held_ns),
         AT(profd_clock_event, state), AT(profd_clock_event, stack_number),
         AT(profd_clock_event, number), AT(profd_clock_event, at_epoch),
         AT(profd_clock_event, final), AT(profd_clock_event, comm), AT(profd_clock_event, own_tid),
         AT(profd_clock_event, reserved), AT(profd_clock_event, moves_at_epoch),
         AT(profd_clock_event, moves_final)}}},
      {"profd_moves",
       {sizeof(profd_moves),
        {AT(profd_moves, core), AT(profd_moves, cache), AT(profd_moves, node)}}},
      {"profd_cpu_place",
       {sizeof(profd_cpu_place),
        {AT(profd_cpu_place, core), AT(profd_cpu_place, cache), AT(profd_cpu_place, node),
         AT(profd_cpu_place, sibling)}}},
      {"profd_sample_event",
       {sizeof(profd_sample_event),
        {AT(profd_sample_event, event),
         AT(profd_sample_event, begin_ns),
         AT(profd_sample_event, held_ns),
         AT(profd_sample_event, stack_number),
         AT(profd_sample_event, registers),
         AT(profd_sample_event, runnable_ns),
         AT(profd_sample_event, period_ns),
         AT(profd_sample_event, blocked_points),
         AT(profd_sample_event, runnable_points),
         AT(profd_sample_event, syscall),
         AT(profd_sample_event, task_state),
         AT(profd_sample_event, syscall_args),
         AT(profd_sample_event, fd_kind),
         AT(profd_sample_event, stack_flags),
         AT(profd_sample_event, kernel_frames),
         AT(profd_sample_event, user_frames),
         AT(profd_sample_event, missing_stack_bytes),
         AT(profd_sample_event, uncertain_from),
         AT(profd_sample_event, cfas),
         AT(profd_sample_event, python_words),
         AT(profd_sample_event, python_flags),
         AT(profd_sample_event, wakee_start_ns),
         AT(profd_sample_event, wakee_tid),
         AT(profd_sample_event, futex_word),
         AT(profd_sample_event, futex_owner),
         AT(profd_sample_event, comm),
         AT(profd_sample_event, followed_sessions),
         AT(profd_sample_event, foreign_sessions),
         AT(profd_sample_event, number),
         AT(profd_sample_event, label_bytes),
         AT(profd_sample_event, reserved),
         AT(profd_sample_event, frames)}}},
      {"profd_task_event",
       {sizeof(profd_task_event),
        {AT(profd_task_event, event), AT(profd_task_event, parent_pid),
         AT(profd_task_event, parent_tid), AT(profd_task_event, parent_process_start_ns),
         AT(profd_task_event, comm), AT(profd_task_event, exit_code),
         AT(profd_task_event, path_bytes), AT(profd_task_event, path)}}},
      {"profd_mmap_event",
       {sizeof(profd_mmap_event),
        {AT(profd_mmap_event, event), AT(profd_mmap_event, address), AT(profd_mmap_event, bytes),
         AT(profd_mmap_event, file_offset), AT(profd_mmap_event, device_major),
         AT(profd_mmap_event, device_minor), AT(profd_mmap_event, inode),
         AT(profd_mmap_event, inode_generation), AT(profd_mmap_event, prot),
         AT(profd_mmap_event, path_bytes), AT(profd_mmap_event, path)}}},
      {"profd_process_event",
       {sizeof(profd_process_event),
        {AT(profd_process_event, event), AT(profd_process_event, blob_bytes),
         AT(profd_process_event, blobs)}}},
      {"profd_session_event",
       {sizeof(profd_session_event),
        {AT(profd_session_event, event), AT(profd_session_event, session),
         AT(profd_session_event, mode), AT(profd_session_event, epoch),
         AT(profd_session_event, epoch_ns), AT(profd_session_event, on_cpu_period_ns),
         AT(profd_session_event, off_cpu_period_ns), AT(profd_session_event, bpf_cost_ns),
         AT(profd_session_event, own_cpu_ns), AT(profd_session_event, hook),
         AT(profd_session_event, target_bytes), AT(profd_session_event, target)}}},
      {"profd_periods_event",
       {sizeof(profd_periods_event),
        {AT(profd_periods_event, event), AT(profd_periods_event, on_cpu_period_ns),
         AT(profd_periods_event, off_cpu_period_ns),
         AT(profd_periods_event, background_on_cpu_period_ns),
         AT(profd_periods_event, background_off_cpu_period_ns),
         AT(profd_periods_event, point_seed)}}},
      {"profd_beyond_share_event",
       {sizeof(profd_beyond_share_event),
        {AT(profd_beyond_share_event, event), AT(profd_beyond_share_event, kind),
         AT(profd_beyond_share_event, uid), AT(profd_beyond_share_event, count)}}},
      {"profd_label_process_event",
       {sizeof(profd_label_process_event),
        {AT(profd_label_process_event, event), AT(profd_label_process_event, keys),
         AT(profd_label_process_event, reason_bytes), AT(profd_label_process_event, texts)}}},
      {"profd_label_process",
       {sizeof(profd_label_process),
        {AT(profd_label_process, process_start_ns), AT(profd_label_process, offset),
         AT(profd_label_process, module), AT(profd_label_process, entry_bytes)}}},
      {"profd_label_head",
       {sizeof(profd_label_head),
        {AT(profd_label_head, trace_id), AT(profd_label_head, span_id), AT(profd_label_head, valid),
         AT(profd_label_head, trace_flags), AT(profd_label_head, attribute_bytes)}}},
      {"profd_step_event",
       {sizeof(profd_step_event),
        {AT(profd_step_event, event), AT(profd_step_event, object), AT(profd_step_event, source),
         AT(profd_step_event, name_bytes), AT(profd_step_event, name)}}},
      {"profd_step_source_event",
       {sizeof(profd_step_source_event),
        {AT(profd_step_source_event, event), AT(profd_step_source_event, source),
         AT(profd_step_source_event, reserved), AT(profd_step_source_event, text_bytes),
         AT(profd_step_source_event, reason_bytes), AT(profd_step_source_event, text)}}},
      {"profd_step_place",
       {sizeof(profd_step_place),
        {AT(profd_step_place, session), AT(profd_step_place, source), AT(profd_step_place, naming),
         AT(profd_step_place, end), AT(profd_step_place, object)}}},
      {"profd_switch_event",
       {sizeof(profd_switch_event),
        {AT(profd_switch_event, event), AT(profd_switch_event, begin_ns),
         AT(profd_switch_event, runnable_ns), AT(profd_switch_event, state),
         AT(profd_switch_event, kind)}}},
      {"profd_wake_event",
       {sizeof(profd_wake_event),
        {AT(profd_wake_event, event), AT(profd_wake_event, begin_ns),
         AT(profd_wake_event, wakee_start_ns), AT(profd_wake_event, wakee_tid),
         AT(profd_wake_event, reserved)}}},
      {"profd_pmu_counts",
       {sizeof(profd_pmu_counts),
        {AT(profd_pmu_counts, counted_ns), AT(profd_pmu_counts, counts)}}},
      {"profd_pmu_event",
       {sizeof(profd_pmu_event),
        {AT(profd_pmu_event, event), AT(profd_pmu_event, epoch), AT(profd_pmu_event, epoch_ns),
         AT(profd_pmu_event, at_epoch), AT(profd_pmu_event, final)}}},
      {"profd_counters_event",
       {sizeof(profd_counters_event),
        {AT(profd_counters_event, event), AT(profd_counters_event, count),
         AT(profd_counters_event, reserved), AT(profd_counters_event, values)}}},
      {"profd_constants",
       {sizeof(profd_constants),
        {AT(profd_constants, hook), AT(profd_constants, split), AT(profd_constants, own_pid),
         AT(profd_constants, pidns_level), AT(profd_constants, pidns_inum),
         AT(profd_constants, share_scale), AT(profd_constants, point_seed),
         AT(profd_constants, places), AT(profd_constants, reserved)}}},
      {"profd_control",
       {sizeof(profd_control),
        {AT(profd_control, epoch),
         AT(profd_control, observed_sessions),
         AT(profd_control, visited_sessions),
         AT(profd_control, clock_generation),
         AT(profd_control, exit_slot),
         AT(profd_control, first_sessions),
         AT(profd_control, waker_sessions),
         AT(profd_control, switch_sessions),
         AT(profd_control, pmu_sessions),
         AT(profd_control, pmu_counters),
         AT(profd_control, pmu_generation),
         AT(profd_control, interrupts_begin),
         AT(profd_control, interrupts_end),
         AT(profd_control, observes_pid),
         AT(profd_control, epoch_ns),
         AT(profd_control, sessions),
         AT(profd_control, on_cpu_sessions),
         AT(profd_control, off_cpu_sessions),
         AT(profd_control, off_cpu_level),
         AT(profd_control, starting_sessions),
         AT(profd_control, snapshot_sessions),
         AT(profd_control, snapshot_before_ns),
         AT(profd_control, python_processes),
         AT(profd_control, label_processes),
         AT(profd_control, tick),
         AT(profd_control, dump_sessions),
         AT(profd_control, snapshot_since_ns),
         AT(profd_control, confined_sessions),
         AT(profd_control, requested_sessions),
         AT(profd_control, background_off_cpu_level),
         AT(profd_control, background_on_cpu_period),
         AT(profd_control, shared_sessions),
         AT(profd_control, stolen_ratio),
         AT(profd_control, unreadable_pids),
         AT(profd_control, unreadable_users),
         AT(profd_control, reads),
         AT(profd_control, reads_pid)}}},
      {"profd_filter",
       {sizeof(profd_filter),
        {AT(profd_filter, kind), AT(profd_filter, flags), AT(profd_filter, pidns_inum),
         AT(profd_filter, uid), AT(profd_filter, cgroup_id), AT(profd_filter, comm)}}},
      {"profd_filter_id",
       {sizeof(profd_filter_id), {AT(profd_filter_id, session), AT(profd_filter_id, id)}}},
      {"profd_file_key",
       {sizeof(profd_file_key),
        {AT(profd_file_key, inode), AT(profd_file_key, size), AT(profd_file_key, mtime_ns),
         AT(profd_file_key, device), AT(profd_file_key, generation)}}},
      {"profd_unwind_file",
       {sizeof(profd_unwind_file),
        {AT(profd_unwind_file, flags), AT(profd_unwind_file, index),
         AT(profd_unwind_file, first_chunk), AT(profd_unwind_file, chunks),
         AT(profd_unwind_file, rules), AT(profd_unwind_file, rule_count),
         AT(profd_unwind_file, last_used), AT(profd_unwind_file, reserved)}}},
      {"profd_chunk_ref",
       {sizeof(profd_chunk_ref), {AT(profd_chunk_ref, place), AT(profd_chunk_ref, last_used)}}},
      {"profd_chunk",
       {sizeof(profd_chunk), {AT(profd_chunk, first_row), AT(profd_chunk, reserved)}}},
      {"profd_unwind_row",
       {sizeof(profd_unwind_row), {AT(profd_unwind_row, offset), AT(profd_unwind_row, rule)}}},
      {"profd_unwind_rule",
       {sizeof(profd_unwind_rule),
        {AT(profd_unwind_rule, cfa), AT(profd_unwind_rule, cfa_register),
         AT(profd_unwind_rule, flags), AT(profd_unwind_rule, reserved),
         AT(profd_unwind_rule, offset), AT(profd_unwind_rule, add), AT(profd_unwind_rule, saved),
         AT(profd_unwind_rule, return_address), AT(profd_unwind_rule, padding)}}},
      {"profd_python_process_event",
       {sizeof(profd_python_process_event),
        {AT(profd_python_process_event, event), AT(profd_python_process_event, version),
         AT(profd_python_process_event, chain), AT(profd_python_process_event, module_begin),
         AT(profd_python_process_event, module_end), AT(profd_python_process_event, eval_begin),
         AT(profd_python_process_event, eval_end), AT(profd_python_process_event, gil_begin),
         AT(profd_python_process_event, gil_end), AT(profd_python_process_event, reason_bytes),
         AT(profd_python_process_event, runtime), AT(profd_python_process_event, reason)}}},
      {"profd_python_code_event",
       {sizeof(profd_python_code_event),
        {AT(profd_python_code_event, event), AT(profd_python_code_event, code),
         AT(profd_python_code_event, validator), AT(profd_python_code_event, version),
         AT(profd_python_code_event, first_line), AT(profd_python_code_event, text_bytes),
         AT(profd_python_code_event, runtime), AT(profd_python_code_event, texts)}}},
      {"profd_python_process",
       {sizeof(profd_python_process),
        {AT(profd_python_process, slot),
         AT(profd_python_process, gil),
         AT(profd_python_process, chain),
         AT(profd_python_process, code_mask),
         AT(profd_python_process, thread_id),
         AT(profd_python_process, current),
         AT(profd_python_process, cframe_current),
         AT(profd_python_process, cframe_previous),
         AT(profd_python_process, first_frame),
         AT(profd_python_process, frame_bytes),
         AT(profd_python_process, frame_previous),
         AT(profd_python_process, frame_code),
         AT(profd_python_process, frame_instruction),
         AT(profd_python_process, frame_owner),
         AT(profd_python_process, code_instructions),
         AT(profd_python_process, code_version),
         AT(profd_python_process, code_constant),
         AT(profd_python_process, code_words),
         AT(profd_python_process, code_name),
         AT(profd_python_process, string_hash),
         AT(profd_python_process, slot_inner),
         AT(profd_python_process, interpreter_gil),
         AT(profd_python_process, thread_interpreter),
         AT(profd_python_process, gil_locked),
         AT(profd_python_process, gil_holder),
         AT(profd_python_process, code_file),
         AT(profd_python_process, code_qualname),
         AT(profd_python_process, code_lines),
         AT(profd_python_process, reserved),
         AT(profd_python_process, more),
         AT(profd_python_process, pid)}}},
      {"profd_python_runtime_key",
       {sizeof(profd_python_runtime_key),
        {AT(profd_python_runtime_key, pid), AT(profd_python_runtime_key, runtime)}}},
      {"profd_share_key",
       {sizeof(profd_share_key), {AT(profd_share_key, kind), AT(profd_share_key, id)}}},
      {"profd_share",
       {sizeof(profd_share),
        {AT(profd_share, used_ns), AT(profd_share, beyond_ns), AT(profd_share, beyond),
         AT(profd_share, in_block), AT(profd_share, halvings)}}},
      {"profd_pass",
       {sizeof(profd_pass),
        {AT(profd_pass, point_ns), AT(profd_pass, weight_ns), AT(profd_pass, long_weight_ns),
         AT(profd_pass, stream), AT(profd_pass, cpu), AT(profd_pass, long_period),
         AT(profd_pass, reserved)}}},
      {"profd_wanted",
       {sizeof(profd_wanted),
        {AT(profd_wanted, key), AT(profd_wanted, mapping_begin), AT(profd_wanted, mapping_end),
         AT(profd_wanted, file_offset), AT(profd_wanted, pid), AT(profd_wanted, reserved)}}},
  };
}

#undef AT

struct FreeBtf {
  void operator()(btf* types) const { ::btf__free(types); }
};

// Offsets are in bits there. Members of a union without a name count as those of its struct.
void AddFields(const btf& types, const btf_type* type, std::size_t begin, Layout& layout) {
  const btf_member* members = ::btf_members(type);
  for (std::uint16_t i = 0; i < ::btf_vlen(type); ++i) {
    const std::string name = ::btf__name_by_offset(&types, members[i].name_off);
    const std::size_t offset = begin + ::btf_member_bit_offset(type, i) / 8;
    if (name.empty())
      AddFields(types, ::btf__type_by_id(&types, members[i].type), offset, layout);
    else
      layout.fields[name] = offset;
  }
}

// As clang -target bpf sees them, from the object's BTF.
Layout BpfLayout(const btf& types, const std::string& name) {
  Layout layout;
  const std::int32_t id = ::btf__find_by_name_kind(&types, name.c_str(), BTF_KIND_STRUCT);
  if (id < 0) return layout;
  const btf_type* type = ::btf__type_by_id(&types, static_cast<std::uint32_t>(id));
  layout.bytes = type->size;
  AddFields(types, type, 0, layout);
  return layout;
}

TEST(LayoutTest, BothCompilersAgree) {
  const std::unique_ptr<btf, FreeBtf> types(::btf__parse(PROFD_LAYOUT_OBJECT, nullptr));
  ASSERT_NE(types, nullptr) << PROFD_LAYOUT_OBJECT;
  for (const auto& [name, cpp] : CppLayouts()) {
    const Layout bpf = BpfLayout(*types, name);
    EXPECT_EQ(cpp.bytes, bpf.bytes) << name;
    EXPECT_EQ(cpp.fields, bpf.fields) << name;
  }
}

TEST(LayoutTest, EveryEventBeginsWithTheHeaderAndEndsOnEightBytes) {
  for (const auto& [name, layout] : CppLayouts()) {
    if (!name.ends_with("_event") || name == "profd_event") continue;
    EXPECT_EQ(layout.fields.at("event"), 0) << name;
    EXPECT_EQ(layout.bytes % 8, 0) << name;
  }
}

}  // namespace
}  // namespace profd
