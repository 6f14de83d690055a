#include "daemon/base/pprof/pprof_tables.h"

namespace profd {

std::int64_t PprofTables::String(std::string_view text) {
  const auto next = static_cast<std::int64_t>(out_.string_table_size());
  const auto [known, added] = strings_.emplace(text, next);
  if (added) out_.add_string_table(std::string(text));
  return known->second;
}

void PprofTables::SetType(pprof::ValueType* type, std::string_view name, std::string_view unit) {
  type->set_type(String(name));
  type->set_unit(String(unit));
}

void PprofTables::AddLabel(pprof::Sample* sample, std::string_view name, std::string_view value) {
  pprof::Label* label = sample->add_label();
  label->set_key(String(name));
  label->set_str(String(value));
}

std::uint64_t PprofTables::Function(std::int64_t name, std::int64_t system_name,
                                    std::int64_t file) {
  const auto next = static_cast<std::uint64_t>(out_.function_size()) + 1;
  const auto [known, added] = functions_.emplace(std::tuple(name, system_name, file), next);
  if (added) {
    pprof::Function* function = out_.add_function();
    function->set_id(next);
    function->set_name(name);
    function->set_system_name(system_name);
    function->set_filename(file);
  }
  return known->second;
}

std::uint64_t PprofTables::AddMapping(std::string_view module, std::string_view build_id,
                                      std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t kPageBytes = 4096;
  pprof::Mapping* mapping = out_.add_mapping();
  mapping->set_id(static_cast<std::uint64_t>(out_.mapping_size()));
  mapping->set_memory_start(first / kPageBytes * kPageBytes);
  mapping->set_file_offset(mapping->memory_start());
  const std::uint64_t limit = (last / kPageBytes + 1) * kPageBytes;
  mapping->set_memory_limit(limit > last ? limit : ~0ull);
  mapping->set_filename(String(module));
  mapping->set_build_id(String(build_id));
  mapping->set_has_functions(true);
  mapping->set_has_filenames(true);
  mapping->set_has_line_numbers(true);
  mapping->set_has_inline_frames(true);
  return mapping->id();
}

}  // namespace profd
