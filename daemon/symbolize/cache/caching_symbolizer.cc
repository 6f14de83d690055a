#include "daemon/symbolize/cache/caching_symbolizer.h"

#include <algorithm>
#include <utility>

#include "daemon/base/keys.h"

namespace profd::symbolize {
namespace {

std::size_t BytesOf(const std::vector<Frame>& frames) {
  std::size_t bytes = 0;
  for (const Frame& frame : frames) {
    bytes += sizeof(Frame);
    for (const std::string* text :
         {&frame.name, &frame.full_name, &frame.symbol, &frame.module, &frame.file, &frame.reason})
      bytes += text->capacity();
  }
  return bytes;
}

}  // namespace

void CachingSymbolizer::Resolve(const process::AddressFrame& address, Detail detail,
                                std::vector<Frame>& frames) {
  if (const std::uint64_t now = inner_.improvements(); now != improvements_) {
    improvements_ = now;
    by_key_.clear();
    answers_.clear();
    counters_.bytes.Set(0);
  }
  const bool in_module = !address.kernel && address.module != nullptr;
  const Key key{in_module ? address.module.get() : nullptr,
                in_module ? address.file_offset : address.address, address.kernel,
                address.return_address, detail};
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    counters_.hits.Add();
    answers_.splice(answers_.begin(), answers_, found->second);
    const std::vector<Frame>& known = answers_.front().frames;
    frames.insert(frames.end(), known.begin(), known.end());
    return;
  }
  counters_.misses.Add();
  const std::size_t first = frames.size();
  inner_.Resolve(address, detail, frames);
  if ((address.kernel && !frames[first].reason.empty()) || MayChange(address, frames[first]))
    return;

  constexpr std::size_t kNodeBytes = sizeof(Answer) + 2 * sizeof(Key) + 64;  // list, map, malloc
  Answer& answer = answers_.emplace_front();
  answer.key = key;
  answer.module = in_module ? address.module : nullptr;
  answer.frames.assign(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
  answer.bytes = kNodeBytes + BytesOf(answer.frames);
  by_key_.emplace(key, answers_.begin());
  counters_.bytes.Add(answer.bytes);
  KeepTo(max_bytes_);
}

void CachingSymbolizer::KeepTo(std::size_t max_bytes) {
  std::size_t bytes = counters_.bytes.value();
  while (bytes > max_bytes && answers_.size() > 1) {
    bytes -= answers_.back().bytes;
    by_key_.erase(answers_.back().key);
    answers_.pop_back();
  }
  counters_.bytes.Set(bytes);
  memory_.Set(bytes);
}

void CachingSymbolizer::GiveUp() {
  const std::uint64_t requested = memory_.TakeReclaimRequest();
  const std::size_t bytes = counters_.bytes.value();
  if (requested != 0) KeepTo(bytes - std::min<std::size_t>(requested, bytes));
}

std::size_t CachingSymbolizer::Hash::operator()(const Key& key) const {
  const auto module = reinterpret_cast<std::uintptr_t>(key.module);
  return MixBits(key.place ^
                 MixBits(module * 4 + (key.kernel ? 2 : 0) + (key.return_address ? 1 : 0)) ^
                 static_cast<std::uint64_t>(key.detail) << 63);
}

}  // namespace profd::symbolize
