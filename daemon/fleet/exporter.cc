#include "daemon/fleet/exporter.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "daemon/base/files.h"
#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/spool/json_values.h"

namespace profd::fleet {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kPauseNs = 10 * kSecondNs;  // between two tries that need the disk
constexpr std::size_t kMaxStateBytes = 1u << 20;
// A profile of a large host takes some hundred bytes for each of these.
constexpr aggregate::MergeLimits kLimits{.processes = 20'000,
                                         .threads = 40'000,
                                         .frames = 60'000,
                                         .nodes = 150'000,
                                         .samples = 100'000,
                                         .paths = 1'000};
constexpr std::size_t kMostPaths = 20'000;  // where the target takes them

aggregate::MergeLimits LimitsOf(const Target& target) {
  aggregate::MergeLimits limits = kLimits;
  if (target.paths() == Paths::kKept) limits.paths = kMostPaths;
  return limits;
}

// Between two reads of the history: a part is not late by more than a fraction of its length.
std::uint64_t ReadPauseNs(const ExportSettings& settings) {
  const auto interval_ns = static_cast<std::uint64_t>(settings.interval.count());
  return std::clamp(interval_ns / 4, kSecondNs, kPauseNs);
}

}  // namespace

Exporter::Exporter(Parts parts, const Clock& clock)
    : parts_(std::move(parts)),
      clock_(clock),
      tail_({.path = parts_.history,
             .interval_ns = static_cast<std::uint64_t>(parts_.settings.interval.count()),
             .grace_ns = parts_.grace_ns,
             .limits = LimitsOf(*parts_.target)}),
      send_times_(static_cast<std::uint64_t>(parts_.settings.interval.count())) {
  Describe();
}

std::uint64_t Exporter::Step() {
  const std::uint64_t now = clock_.MonotonicNs();
  if (!spool_) {
    if (const auto opened = Open(); !opened) {
      read_error_ = opened.error().message;
      Describe();
      return now + kPauseNs;
    }
  }
  if (now >= next_read_ns_) {
    const bool was_empty = spool_->empty();
    const auto read = ReadOne();
    read_error_ = read ? "" : read.error().message;
    next_read_ns_ = read && *read ? now : now + ReadPauseNs(parts_.settings);
    if (was_empty && !spool_->empty()) send_times_.Began(now, parts_.random());
  }
  if (!spool_->empty() && now >= send_times_.next_ns()) SendOne();
  Describe();
  return spool_->empty() ? next_read_ns_ : std::min(next_read_ns_, send_times_.next_ns());
}

Result<void> Exporter::Open() {
  PROFD_TRY(LoadState());
  // Behind `next_entry_` are those whose windows are to be read again.
  auto spool = Spool::Open(parts_.folder + "/spool", parts_.settings.spool_bytes, next_entry_);
  if (!spool) return spool.error();
  spool_ = *std::move(spool);
  return {};
}

Result<void> Exporter::LoadState() {
  const std::string path = parts_.folder + "/state.json";
  const auto text = ReadFile(path, kMaxStateBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  if (!text) return text.error();
  const Json state = Json::parse(*text, nullptr, false);
  if (!state.is_object())
    return Error{ErrorCode::kCorrupt, path + " is damaged",
                 "remove it: the export begins again with the next window"};
  cursor_ = store::TailCursor{static_cast<std::int64_t>(NumberIn(state, "file")),
                              static_cast<std::int64_t>(NumberIn(state, "window")),
                              NumberIn(state, "end_unix_ns")};
  next_entry_ = NumberIn(state, "next_entry");
  status_.sent = NumberIn(state, "sent");
  status_.sent_bytes = NumberIn(state, "sent_bytes");
  status_.sent_until_unix_ns = NumberIn(state, "sent_until_unix_ns");
  status_.retries = NumberIn(state, "retries");
  status_.gaps = GapsIn(state, "gaps");
  unreported_ = GapsIn(state, "unreported");
  return {};
}

Result<void> Exporter::SaveState() {
  unsaved_ = true;
  const Json state{{"file", static_cast<std::uint64_t>(cursor_->file)},
                   {"window", static_cast<std::uint64_t>(cursor_->window)},
                   {"end_unix_ns", cursor_->end_unix_ns},
                   {"next_entry", spool_->next()},
                   {"sent", status_.sent},
                   {"sent_bytes", status_.sent_bytes},
                   {"sent_until_unix_ns", status_.sent_until_unix_ns},
                   {"retries", status_.retries},
                   {"gaps", status_.gaps},
                   {"unreported", unreported_}};
  PROFD_TRY(WriteWhole(parts_.folder + "/state.json",
                       state.dump(-1, ' ', false, Json::error_handler_t::replace)));
  unsaved_ = false;
  return {};
}

Result<bool> Exporter::ReadOne() {
  if (!cursor_) {
    // A new export begins now: its receiver gets no week of the past at once.
    const auto end = tail_.End();
    if (!end) return end.error();
    cursor_ = *end;
    PROFD_TRY(SaveState());
  }
  auto part = tail_.Next(*cursor_, clock_.RealtimeNs());
  if (!part) return part.error();
  if (!*part) return false;
  PROFD_TRY(SpoolPart(**std::move(part)));
  return true;
}

Result<void> Exporter::SpoolPart(store::TailPart part) {
  Gaps gaps = unreported_;  // without a profile, the next one reports them
  Gaps found;
  if (part.dropped_ns != 0) found["history_dropped"] = part.dropped_ns;
  if (part.unreadable_ns != 0) found["history_damaged"] = part.unreadable_ns;
  for (const auto& [cause, ns] : found) gaps[cause] += ns;
  auto profile = MakeExportProfile(std::move(part.profile), parts_.settings.what,
                                   parts_.relabelling, parts_.rules.get(), parts_.target->paths());
  profile.gaps = gaps;
  auto encoded = parts_.target->Encode(profile);
  if (!encoded) return encoded.error();
  const std::size_t count = encoded->payloads.size();
  const std::uint64_t first = spool_->next();
  Spool::Dropped dropped;
  Result<void> added;
  for (std::size_t i = 0; i < count && added; ++i)
    added = spool_->Add(
        {.from_unix_ns = part.from_unix_ns,
         .to_unix_ns = part.to_unix_ns,
         .covers_ns = profile.duration_ns * (i + 1) / count - profile.duration_ns * i / count,
         .gaps = i == 0 ? gaps : Gaps(),
         .payload = std::move(encoded->payloads[i])},
        dropped);
  if (added) {
    const Gaps gaps_before = status_.gaps;
    const Gaps unreported_before = std::exchange(unreported_, count == 0 ? gaps : Gaps());
    const auto cursor_before = std::exchange(cursor_, part.next);
    for (const auto& [cause, ns] : found) status_.gaps[cause] += ns;
    TakeBack(dropped.gaps);
    AddGap("spool_full", dropped.ns);
    if (encoded->too_large_ns != 0) AddGap("too_large", profile.duration_ns);
    added = SaveState();
    if (added) return {};
    cursor_ = cursor_before;
    unreported_ = unreported_before;
    status_.gaps = gaps_before;
  }
  // The windows stay in the history, and are read again: on a disk that is full, what is spooled
  // would leave no room for the state without which nothing is sent. What had to leave has left.
  spool_->Forget(first);
  TakeBack(dropped.gaps);
  AddGap("spool_full", dropped.ns);
  return added.error();
}

void Exporter::SendOne() {
  const std::uint64_t now = clock_.MonotonicNs();
  // What is sent must not be read again after a crash.
  if (unsaved_) {
    if (const auto saved = SaveState(); !saved) {
      send_error_ = saved.error().message;
      send_times_.Wait(now + kPauseNs);
      return;
    }
  }
  if (!TakeOldest()) return;
  while (pieces_.front().payload.size() >= too_large_bytes_ && SplitPiece()) continue;
  const SpoolEntry& piece = pieces_.front();
  const Verdict verdict = parts_.target->Send(piece, spool_->first());
  send_error_ = verdict.message;
  switch (verdict.kind) {
    case Verdict::Kind::kSent:
      ++status_.sent;
      status_.sent_bytes += piece.payload.size();
      status_.sent_until_unix_ns = std::max(status_.sent_until_unix_ns, piece.to_unix_ns);
      break;
    case Verdict::Kind::kTooLarge:
      too_large_bytes_ = std::min(too_large_bytes_, piece.payload.size());
      if (SplitPiece()) {
        ++status_.retries;
        send_times_.Wait(clock_.MonotonicNs());
        return;
      }
      [[fallthrough]];
    case Verdict::Kind::kRefused:
      AddGap(verdict.cause, piece.covers_ns);
      TakeBack(piece.gaps);
      break;
    case Verdict::Kind::kLater:
      ++status_.retries;
      if (!split_) pieces_.clear();  // it is in the spool
      send_times_.Failed(clock_.MonotonicNs(), verdict.retry_after_ns, parts_.random());
      return;
  }
  const std::uint64_t covers_ns = pieces_.front().covers_ns;
  pieces_.pop_front();
  if (pieces_.empty()) RemoveOldest();
  send_times_.Ended(clock_.MonotonicNs(), covers_ns, !spool_->empty(), parts_.random());
}

bool Exporter::TakeOldest() {
  if (!pieces_.empty() && pieces_of_ == spool_->first()) return true;
  pieces_.clear();  // of an entry that had to leave the spool: all of it is counted as lost
  auto entry = spool_->Read();
  if (!entry) {
    AddGap("spool_damaged", spool_->first_covers_ns());
    RemoveOldest();
    send_error_ = entry.error().message;
    return false;
  }
  if (IsTooOld(*entry)) {
    AddGap("too_old", entry->covers_ns);
    TakeBack(entry->gaps);
    RemoveOldest();
    return false;
  }
  pieces_of_ = spool_->first();
  split_ = false;
  pieces_.push_back(*std::move(entry));
  return true;
}

bool Exporter::IsTooOld(const SpoolEntry& entry) const {
  const auto most_ns = static_cast<std::uint64_t>(parts_.settings.max_age.count());
  return most_ns != 0 && clock_.RealtimeNs() > entry.from_unix_ns + most_ns;
}

bool Exporter::SplitPiece() {
  const SpoolEntry whole = pieces_.front();
  auto parts = parts_.target->Split(whole.payload);
  if (parts.size() < 2) return false;
  split_ = true;
  pieces_.pop_front();
  const std::size_t count = parts.size();
  for (std::size_t i = count; i-- > 0;) {
    SpoolEntry piece = whole;
    piece.covers_ns = whole.covers_ns * (i + 1) / count - whole.covers_ns * i / count;
    if (i != 0) piece.gaps.clear();
    piece.payload = std::move(parts[i]);
    pieces_.push_front(std::move(piece));
  }
  return true;
}

void Exporter::RemoveOldest() {
  spool_->RemoveFirst();
  if (const auto saved = SaveState(); !saved) send_error_ = saved.error().message;
}

void Exporter::AddGap(const std::string& cause, std::uint64_t ns) {
  if (ns == 0) return;
  status_.gaps[cause] += ns;
  unreported_[cause] += ns;
}

// Gaps that an entry would have reported: a later one does.
void Exporter::TakeBack(const Gaps& gaps) {
  for (const auto& [cause, ns] : gaps) unreported_[cause] += ns;
}

void Exporter::Describe() {
  status_.name = parts_.settings.name;
  status_.to = parts_.settings.to;
  status_.spool_limit_bytes = parts_.settings.spool_bytes;
  status_.spool_entries = spool_ ? spool_->size() : 0;
  status_.spool_bytes = spool_ ? spool_->bytes() : 0;
  const bool both = !send_error_.empty() && !read_error_.empty();
  status_.last_error = send_error_ + (both ? "; " : "") + read_error_;
}

}  // namespace profd::fleet
