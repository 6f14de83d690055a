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
    answers_.Clear();
  }
  const bool in_module = !address.kernel && address.module != nullptr;
  const Key key{in_module ? address.module.get() : nullptr,
                in_module ? address.file_offset : address.address, address.kernel,
                address.return_address, detail};
  if (const Answer* known = answers_.Find(key); known != nullptr) {
    counters_.hits.Add();
    frames.insert(frames.end(), known->frames.begin(), known->frames.end());
    return;
  }
  counters_.misses.Add();
  const std::size_t first = frames.size();
  inner_.Resolve(address, detail, frames);
  if ((address.kernel && !frames[first].reason.empty()) || MayChange(address, frames[first]))
    return;

  Answer answer;
  answer.module = in_module ? address.module : nullptr;
  answer.frames.assign(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
  const std::size_t bytes = Answers::kEntryBytes + BytesOf(answer.frames);
  answers_.Put(key, std::move(answer), bytes);
  PublishBytes();
}

void CachingSymbolizer::PublishBytes() {
  counters_.bytes.Set(answers_.cost());
  memory_.Set(answers_.cost());
}

void CachingSymbolizer::GiveUp() {
  const std::uint64_t requested = memory_.TakeReclaimRequest();
  if (requested == 0) return;
  answers_.Shrink(answers_.cost() - std::min<std::size_t>(requested, answers_.cost()));
  PublishBytes();
}

std::size_t CachingSymbolizer::Hash::operator()(const Key& key) const {
  const auto module = reinterpret_cast<std::uintptr_t>(key.module);
  return MixBits(key.place ^
                 MixBits(module * 4 + (key.kernel ? 2 : 0) + (key.return_address ? 1 : 0)) ^
                 static_cast<std::uint64_t>(key.detail) << 63);
}

}  // namespace profd::symbolize
