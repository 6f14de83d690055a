#include "daemon/store/codec/content_hash.h"

#include <xxhash.h>

#include <bit>

namespace profd::store {
namespace {

// Each text is preceded by its length: without it, ("ab", "c") and ("a", "bc") would have one hash.
template <typename... Values>
Hash128 Hash(const Values&... values) {
  std::string bytes;
  const auto add_number = [&](std::uint64_t number) {
    const auto raw = std::bit_cast<std::array<char, sizeof(number)>>(number);
    bytes.append(raw.data(), raw.size());
  };
  const auto add = [&](const auto& value) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(value)>>) {
      add_number(static_cast<std::uint64_t>(value));
    } else {
      const std::string_view text(value);
      add_number(text.size());
      bytes += text;
    }
  };
  (add(values), ...);
  // The canonical form is the same on every machine, and the file can move to another one.
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::bit_cast<Hash128>(canonical);
}

}  // namespace

Hash128 ContentHash(const aggregate::ProfileProcess& process) {
  const auto* python = process.interpreter.get();
  return Hash(process.key.pid, process.key.start_ns, process.shown_pid, process.comm,
              process.command_line, process.executable, process.build_id, process.cgroup,
              process.container, process.unit, process.owner.uid.has_value(),
              process.owner.uid.value_or(0), process.owner.sole, process.owner.user, process.exited,
              python != nullptr, python != nullptr ? python->version : std::string(),
              python != nullptr ? python->refused : std::string());
}

Hash128 ProgramHash(const aggregate::ProfileProcess& process) {
  const auto* python = process.interpreter.get();
  return Hash(process.command_line, process.executable, process.build_id, process.cgroup,
              process.container, process.unit, process.owner.uid.has_value(),
              process.owner.uid.value_or(0), process.owner.sole, process.owner.user,
              python != nullptr, python != nullptr ? python->version : std::string(),
              python != nullptr ? python->refused : std::string());
}

Hash128 ContentHash(const aggregate::ProfileThread& thread) {
  return Hash(thread.key.tid, thread.key.start_ns, thread.shown_tid, thread.comm);
}

Hash128 ContentHash(const symbolize::Frame& frame) {
  const Hash128 module = ModuleHash(frame);
  return Hash(static_cast<std::uint64_t>(frame.kind), frame.inlined, frame.interpreter, frame.name,
              frame.full_name, frame.symbol,
              std::string_view(reinterpret_cast<const char*>(module.data()), module.size()),
              frame.offset, frame.file, frame.line, frame.reason);
}

Hash128 ModuleHash(const symbolize::Frame& frame) {
  if (!frame.origin) return Hash(frame.module);
  const auto& info = *frame.origin;
  return Hash(frame.module, info.path, info.build_id, info.symbols_from, info.symbols_file,
              info.symbols_missing, info.debug_file, info.debug_missing);
}

Hash128 HostHash(const aggregate::Profile& profile) {
  return Hash(profile.target, profile.host, profile.kernel, profile.hook, profile.profd_version);
}

}  // namespace profd::store
