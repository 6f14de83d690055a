#include "daemon/symbolize/sample/sample_symbolizer.h"

#include <utility>

#include "daemon/base/keys.h"
#include "daemon/symbolize/sample/stack_end.h"

namespace profd::symbolize {

namespace {

constexpr std::string_view kNotMerged = "[merge=failed]";

}  // namespace

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
  const std::size_t trimmed = sample.wake_up ? WakeUpFramesToTrim(roles_)
                              : off_cpu      ? FramesToTrim(roles_)
                                             : 0;
  SymbolizedSample symbolized;
  symbolized.frames.reserve(stack_.size());
  if (sample.merge_failed) {
    Append(sample.unmerged_python, detail, symbolized.frames);
    symbolized.frames.push_back(InternPseudo(kNotMerged));
  }
  for (std::size_t i = trimmed; i < stack_.size(); ++i) {
    if (sample.frames[i].uncertain && !symbolized.uncertain_from)
      symbolized.uncertain_from = static_cast<std::uint32_t>(symbolized.frames.size());
    const auto first = ids_.begin() + stack_[i].first;
    symbolized.frames.insert(symbolized.frames.end(), first, first + stack_[i].count);
  }
  const auto end = StackEndName(sample.stack_flags, sample.missing_stack_bytes);
  if (!end.empty()) symbolized.frames.push_back(InternPseudo(end));
  sample.frames.clear();
  sample.unmerged_python.clear();
  symbolized.sample = std::move(sample);
  return symbolized;
}

void SampleSymbolizer::Append(const std::vector<process::AddressFrame>& addresses, Detail detail,
                              std::vector<FrameId>& frames) {
  for (const process::AddressFrame& address : addresses) {
    const Known known = Look(address, detail);
    const auto first = ids_.begin() + known.first;
    frames.insert(frames.end(), first, first + known.count);
  }
}

FrameId SampleSymbolizer::InternPseudo(std::string_view name) {
  Frame frame;
  frame.kind = FrameKind::kPseudo;
  frame.name = name;
  return table_.Intern(std::move(frame));
}

std::vector<FrameId> SampleSymbolizer::Retain(const std::function<bool(FrameId)>& keep) {
  ForgetAddresses();
  return table_.Retain(keep);
}

void SampleSymbolizer::Clear() {
  ForgetAddresses();
  table_.Clear();
}

void SampleSymbolizer::ForgetAddresses() {
  known_.clear();
  ids_.clear();
  owners_.clear();
}

SampleSymbolizer::Key SampleSymbolizer::KeyOf(const process::AddressFrame& address, Detail detail) {
  if (address.python) return {.owner = address.python.get(), .place = address.line};
  const bool in_module = !address.kernel && address.module != nullptr;
  return {.owner = in_module ? address.module.get() : nullptr,
          .place = in_module ? address.file_offset : address.address,
          .kernel = address.kernel,
          .return_address = address.return_address,
          .interpreter = address.interpreter,
          .detail = detail};
}

void SampleSymbolizer::Resolve(const process::AddressFrame& address, Detail detail) {
  frames_.clear();
  if (!address.python) {
    symbolizer_.Resolve(address, detail, frames_);
    for (Frame& frame : frames_) frame.interpreter = address.interpreter;
    return;
  }
  Frame& frame = frames_.emplace_back();
  frame.kind = FrameKind::kPython;
  frame.name = address.python->name;
  frame.file = address.python->file;
  frame.line = address.line;
}

const SampleSymbolizer::Known& SampleSymbolizer::Look(const process::AddressFrame& address,
                                                      Detail detail) {
  const Key key = KeyOf(address, detail);
  const auto [entry, added] = known_.try_emplace(key);
  if (!added && entry->second.lasting) return entry->second;

  counters_.looked_up.Add();
  if (address.python) {
    owners_.try_emplace(key.owner, address.python);
  } else if (key.owner != nullptr) {
    owners_.try_emplace(key.owner, address.module);
  }
  Resolve(address, detail);
  Known& known = entry->second;
  known.lasting = !Symbolizer::MayChange(address, frames_.front());
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
  const auto owner = reinterpret_cast<std::uintptr_t>(key.owner);
  return MixBits(key.place ^
                 MixBits(owner * 8 + (key.interpreter ? 4 : 0) + (key.kernel ? 2 : 0) +
                         (key.return_address ? 1 : 0)) ^
                 static_cast<std::uint64_t>(key.detail) << 63);
}

}  // namespace profd::symbolize
