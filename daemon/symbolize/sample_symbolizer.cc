#include "daemon/symbolize/sample_symbolizer.h"

#include <utility>

#include "daemon/base/keys.h"
#include "daemon/symbolize/stack_end.h"

namespace profd::symbolize {

SymbolizedSample SampleSymbolizer::Symbolize(process::Sample sample, Detail detail) {
  counters_.samples.Add();
  counters_.frames.Add(sample.frames.size());
  const std::uint64_t improvements = symbolizer_.improvements();
  if (known_.size() >= kMaxAddresses || improvements != improvements_) ForgetAddresses();
  improvements_ = improvements;
  stack_.clear();
  roles_.clear();
  for (const process::AddressFrame& address : sample.frames) {
    stack_.push_back(Look(address, detail));
    if (address.kernel) roles_.push_back(stack_.back().role);
  }
  const bool off_cpu = sample.state != process::State::kOnCpu;
  SymbolizedSample symbolized;
  symbolized.frames.reserve(stack_.size());
  for (std::size_t i = off_cpu ? FramesToTrim(roles_) : 0; i < stack_.size(); ++i) {
    const auto first = ids_.begin() + stack_[i].first;
    symbolized.frames.insert(symbolized.frames.end(), first, first + stack_[i].count);
  }
  const auto end = StackEndName(sample.stack_flags, sample.missing_stack_bytes);
  if (!end.empty()) symbolized.frames.push_back(InternEnd(end));
  sample.frames.clear();
  symbolized.sample = std::move(sample);
  return symbolized;
}

FrameId SampleSymbolizer::InternEnd(std::string_view name) {
  Frame frame;
  frame.kind = FrameKind::kPseudo;
  frame.name = name;
  return table_.Intern(std::move(frame));
}

void SampleSymbolizer::Clear() {
  ForgetAddresses();
  table_.Clear();
}

void SampleSymbolizer::ForgetAddresses() {
  known_.clear();
  ids_.clear();
  modules_.clear();
}

const SampleSymbolizer::Known& SampleSymbolizer::Look(const process::AddressFrame& address,
                                                      Detail detail) {
  const bool in_module = !address.kernel && address.module != nullptr;
  const Key key{in_module ? address.module.get() : nullptr,
                in_module ? address.file_offset : address.address, address.kernel,
                address.return_address, detail};
  const auto [entry, added] = known_.try_emplace(key);
  const bool lasting = !Symbolizer::MayChange(address);
  if (!added && lasting) return entry->second;

  counters_.looked_up.Add();
  if (in_module) modules_.try_emplace(address.module.get(), address.module);
  frames_.clear();
  symbolizer_.Resolve(address, detail, frames_);
  Known& known = entry->second;
  if (!added && known.count == frames_.size()) {
    // In the place of the old ones, which have been handed on.
    for (std::size_t i = 0; i < frames_.size(); ++i)
      ids_[known.first + i] = table_.Intern(std::move(frames_[i]));
    return known;
  }
  known.first = static_cast<std::uint32_t>(ids_.size());
  known.count = static_cast<std::uint32_t>(frames_.size());
  for (Frame& frame : frames_) {
    if (!frame.reason.empty()) counters_.unresolved.Add();
    if (frame.kind == FrameKind::kKernel) known.role = RoleOf(frame.name);
    ids_.push_back(table_.Intern(std::move(frame)));
  }
  return known;
}

std::size_t SampleSymbolizer::Hash::operator()(const Key& key) const {
  const auto module = reinterpret_cast<std::uintptr_t>(key.module);
  return MixBits(key.place ^
                 MixBits(module * 4 + (key.kernel ? 2 : 0) + (key.return_address ? 1 : 0)) ^
                 static_cast<std::uint64_t>(key.detail) << 63);
}

}  // namespace profd::symbolize
