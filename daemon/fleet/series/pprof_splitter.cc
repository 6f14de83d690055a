#include "daemon/fleet/series/pprof_splitter.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "daemon/base/pprof/pprof_tables.h"

namespace profd::fleet {
namespace {

constexpr int kMaxBytes = 256 << 20;  // without gzip

// Copies some samples of a profile. What they refer to may not be there: the bytes were on a disk.
class Part {
 public:
  explicit Part(const pprof::Profile& whole) : whole_(whole) {
    for (const auto& location : whole.location()) locations_.emplace(location.id(), &location);
    for (const auto& function : whole.function()) functions_.emplace(function.id(), &function);
    for (const auto& mapping : whole.mapping()) mappings_.emplace(mapping.id(), &mapping);
  }

  // Nothing: an index is wrong.
  std::optional<pprof::Profile> Make(int begin, int end) && {
    for (const auto& type : whole_.sample_type()) CopyType(type, *out_.add_sample_type());
    CopyType(whole_.period_type(), *out_.mutable_period_type());
    out_.set_default_sample_type(String(whole_.default_sample_type()));
    out_.set_period(whole_.period());
    out_.set_time_nanos(whole_.time_nanos());
    out_.set_duration_nanos(whole_.duration_nanos());
    for (int i = 0; i < whole_.comment_size() && (i == 0 || begin == 0); ++i)
      out_.add_comment(String(whole_.comment(i)));
    for (int i = begin; i < end; ++i) AddSample(whole_.sample(i));
    if (wrong_) return std::nullopt;
    return std::move(out_);
  }

 private:
  std::int64_t String(std::int64_t index) {
    if (index < 0 || index >= whole_.string_table_size()) return wrong_ = true, 0;
    return tables_.String(whole_.string_table(static_cast<int>(index)));
  }

  void CopyType(const pprof::ValueType& from, pprof::ValueType& to) {
    to.set_type(String(from.type()));
    to.set_unit(String(from.unit()));
  }

  void AddSample(const pprof::Sample& from) {
    pprof::Sample& sample = *out_.add_sample();
    sample = from;
    for (std::uint64_t& id : *sample.mutable_location_id()) id = Location(id);
    for (pprof::Label& label : *sample.mutable_label()) {
      label.set_key(String(label.key()));
      label.set_str(String(label.str()));
      label.set_num_unit(String(label.num_unit()));
    }
  }

  std::uint64_t Location(std::uint64_t id) {
    const auto [known, added] = moved_locations_.try_emplace(id, out_.location_size() + 1);
    if (!added) return known->second;
    const auto found = locations_.find(id);
    if (found == locations_.end()) return wrong_ = true, 0;
    pprof::Location& location = *out_.add_location();
    location = *found->second;
    location.set_id(known->second);
    if (location.mapping_id() != 0) location.set_mapping_id(Mapping(location.mapping_id()));
    for (pprof::Line& line : *location.mutable_line())
      line.set_function_id(Function(line.function_id()));
    return known->second;
  }

  std::uint64_t Mapping(std::uint64_t id) {
    const auto [known, added] = moved_mappings_.try_emplace(id, out_.mapping_size() + 1);
    if (!added) return known->second;
    const auto found = mappings_.find(id);
    if (found == mappings_.end()) return wrong_ = true, 0;
    pprof::Mapping& mapping = *out_.add_mapping();
    mapping = *found->second;
    mapping.set_id(known->second);
    mapping.set_filename(String(mapping.filename()));
    mapping.set_build_id(String(mapping.build_id()));
    return known->second;
  }

  std::uint64_t Function(std::uint64_t id) {
    const auto found = functions_.find(id);
    if (found == functions_.end()) return wrong_ = true, 0;
    const pprof::Function& from = *found->second;
    const std::int64_t name = String(from.name());
    const std::int64_t system_name = String(from.system_name());
    return tables_.Function(name, system_name, String(from.filename()));
  }

  const pprof::Profile& whole_;
  std::unordered_map<std::uint64_t, const pprof::Location*> locations_;
  std::unordered_map<std::uint64_t, const pprof::Function*> functions_;
  std::unordered_map<std::uint64_t, const pprof::Mapping*> mappings_;
  pprof::Profile out_;
  PprofTables tables_{out_};
  bool wrong_ = false;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_locations_;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_mappings_;
};

}  // namespace

std::optional<pprof::Profile> ReadPprof(const std::string& bytes) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  pprof::Profile profile;
  if (!std::string_view(bytes).starts_with(kGzip))
    return profile.ParseFromString(bytes) ? std::optional(std::move(profile)) : std::nullopt;
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&in);
  google::protobuf::io::LimitingInputStream bounded(&gzip, kMaxBytes);
  if (!profile.ParseFromZeroCopyStream(&bounded)) return std::nullopt;
  return profile;
}

std::vector<pprof::Profile> SplitPprof(const pprof::Profile& whole) {
  const int count = whole.sample_size();
  if (count < 2) return {};
  std::vector<pprof::Profile> halves;
  for (const auto& [begin, end] : {std::pair(0, count / 2), std::pair(count / 2, count)}) {
    auto half = Part(whole).Make(begin, end);
    if (!half) return {};
    halves.push_back(*std::move(half));
  }
  return halves;
}

}  // namespace profd::fleet
