#include "daemon/fleet/series/series_encoder.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/aggregate/stable_hash.h"
#include "daemon/base/files.h"
#include "daemon/fleet/series/pprof_splitter.h"

namespace profd::fleet {
namespace {

// Version 8 of RFC 9562: what its maker wishes.
std::string Uuid(Hash128 hash) {
  hash[6] = (hash[6] & std::byte{0x0f}) | std::byte{0x80};
  hash[8] = (hash[8] & std::byte{0x3f}) | std::byte{0x80};
  std::string text = HexBytes({reinterpret_cast<const char*>(hash.data()), hash.size()});
  for (const std::size_t at : {20u, 16u, 12u, 8u}) text.insert(at, 1, '-');
  return text;
}

std::size_t BytesOf(const Labels& labels) {
  constexpr std::size_t kFraming = 16;  // at most
  std::size_t bytes = 0;
  for (const auto& [name, value] : labels) bytes += name.size() + value.size() + kFraming;
  return bytes;
}

std::string IdentityOf(const ExportProfile& profile, const Labels& labels) {
  std::string identity = profile.host;
  for (const auto& [name, value] : labels) {
    identity.append(1, '\0').append(name);
    identity.append(1, '\0').append(value);
  }
  return identity;
}

// Job: fills requests, profile by profile. Thread: one.
class Encoder {
 public:
  Encoder(const ExportProfile& profile, const SeriesShape& shape)
      : profile_(profile), shape_(shape) {}

  SeriesRequests Encode() && {
    std::map<Labels, std::vector<ExportRow>> series;
    std::vector<std::vector<ExportRow>*> of_set;
    of_set.reserve(profile_.label_sets.size());
    for (const Labels& labels : profile_.label_sets)
      of_set.push_back(&series[shape_.labels(labels)]);
    for (const ExportRow& row : profile_.rows) of_set[row.labels]->push_back(row);
    for (auto& [labels, rows] : series) {
      if (!shape_.pprof.thread_labels) SumThreads(rows);
      AddRows(labels, rows);
    }
    return std::move(out_);
  }

 private:
  static void SumThreads(std::vector<ExportRow>& rows) {
    std::map<std::tuple<Part, process::WaitReason, std::uint32_t>, ExportRow> sums;
    for (const ExportRow& row : rows) {
      const auto [sum, added] = sums.try_emplace({row.part, row.wait, row.node}, row);
      if (added) continue;
      sum->second.ns += row.ns;
      sum->second.count += row.count;
    }
    rows.clear();
    std::ranges::transform(sums, std::back_inserter(rows),
                           [](const auto& sum) { return sum.second; });
  }

  void AddRows(const Labels& labels, std::span<const ExportRow> rows) {
    if (rows.empty()) return;
    if (rows.size() <= shape_.most_samples) {
      PprofShape shape = shape_.pprof;
      shape.notes = profiles_ == 0;
      const pprof::Profile pprof = EncodePprof(profile_, rows, shape);
      const std::size_t bytes = pprof.ByteSizeLong() + BytesOf(labels);
      if (bytes <= shape_.most_bytes) return Add(labels, pprof, bytes);
    }
    if (rows.size() == 1) {
      out_.too_large_ns += rows[0].ns;
      return;
    }
    AddRows(labels, rows.first(rows.size() / 2));
    AddRows(labels, rows.subspan(rows.size() / 2));
  }

  void Add(const Labels& labels, const pprof::Profile& pprof, std::size_t bytes) {
    auto packed = PprofBytes(pprof, shape_.compression);
    if (!packed) return;  // its size was looked at
    if (out_.requests.empty() || bytes_ + bytes > shape_.most_bytes) {
      out_.requests.emplace_back();
      bytes_ = 0;
    }
    bytes_ += bytes;
    const Hash128 hash =
        StableHash(IdentityOf(profile_, labels), profiles_++, pprof.SerializeAsString());
    out_.requests.back().push_back({labels, *std::move(packed), Uuid(hash)});
  }

  const ExportProfile& profile_;
  const SeriesShape& shape_;
  SeriesRequests out_;
  std::size_t bytes_ = 0;     // of the last request
  std::size_t profiles_ = 0;  // in all requests
};

}  // namespace

SeriesRequests EncodeSeries(const ExportProfile& profile, const SeriesShape& shape) {
  return Encoder(profile, shape).Encode();
}

std::vector<std::vector<SeriesProfile>> SplitSeries(std::vector<SeriesProfile> request) {
  if (request.size() > 1) {
    const auto half = request.begin() + static_cast<std::ptrdiff_t>(request.size() / 2);
    std::vector<SeriesProfile> second(std::make_move_iterator(half),
                                      std::make_move_iterator(request.end()));
    request.erase(half, request.end());
    return {std::move(request), std::move(second)};
  }
  if (request.empty()) return {};
  const SeriesProfile& whole = request[0];
  const auto pprof = ReadPprof(whole.pprof);
  if (!pprof) return {};
  const auto how = whole.pprof.starts_with('\x1f') ? Compression::kGzip : Compression::kNone;
  std::vector<std::vector<SeriesProfile>> halves;
  for (const pprof::Profile& half : SplitPprof(*pprof)) {
    auto bytes = PprofBytes(half, how);
    if (!bytes) return {};
    const Hash128 hash = StableHash(whole.id, halves.size());
    halves.push_back({{whole.labels, *std::move(bytes), Uuid(hash)}});
  }
  return halves;
}

}  // namespace profd::fleet
