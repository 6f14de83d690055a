#include "daemon/store/codec/content_hash.h"

#include "daemon/store/codec/label_text.h"

namespace profd::store {

namespace {

std::string_view TextOf(const Hash128& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// The parent's name apart: rows of a schema before version 4 have no such name.
Hash128 HashWithoutParent(const aggregate::ProfileProcess& process) {
  const auto* python = process.interpreter.get();
  return StableHash(process.key.pid, process.key.start_ns, process.shown_pid, process.comm,
                    process.command_line, process.executable, process.build_id, process.cgroup,
                    process.container, process.unit, process.owner.uid.has_value(),
                    process.owner.uid.value_or(0), process.owner.sole, process.owner.user,
                    process.exited, python != nullptr,
                    python != nullptr ? python->version : std::string(),
                    python != nullptr ? python->refused : std::string());
}

// Labels apart: rows of a schema before version 7 have none.
Hash128 WithLabels(const aggregate::ProfileProcess& process, const Hash128& rest) {
  return process.labels.empty() ? rest : StableHash(TextOf(rest), LabelText(process.labels));
}

}  // namespace

Hash128 ContentHash(const aggregate::ProfileProcess& process) {
  const Hash128 rest = HashWithoutParent(process);
  return WithLabels(process,
                    process.parent.empty() ? rest : StableHash(TextOf(rest), process.parent));
}

Hash128 ProgramHash(const aggregate::ProfileProcess& process) {
  const auto* python = process.interpreter.get();
  const Hash128 rest =
      StableHash(process.command_line, process.executable, process.build_id, process.cgroup,
                 process.container, process.unit, process.owner.uid.has_value(),
                 process.owner.uid.value_or(0), process.owner.sole, process.owner.user,
                 python != nullptr, python != nullptr ? python->version : std::string(),
                 python != nullptr ? python->refused : std::string());
  return WithLabels(process, rest);
}

Hash128 ContentHash(const aggregate::ProfileThread& thread) {
  return StableHash(thread.key.tid, thread.key.start_ns, thread.shown_tid, thread.comm);
}

Hash128 ContentHash(const symbolize::Frame& frame) {
  const Hash128 module = ModuleHash(frame);
  return StableHash(static_cast<std::uint64_t>(frame.kind), frame.inlined, frame.interpreter,
                    frame.name, frame.full_name, frame.symbol, TextOf(module), frame.offset,
                    frame.file, frame.line, frame.reason);
}

Hash128 ModuleHash(const symbolize::Frame& frame) {
  if (!frame.origin) return StableHash(frame.module);
  const auto& info = *frame.origin;
  return StableHash(frame.module, info.path, info.build_id, info.symbols_from, info.symbols_file,
                    info.symbols_missing, info.debug_file, info.debug_missing);
}

Hash128 HostHash(const aggregate::Profile& profile) {
  return StableHash(profile.target, profile.host, profile.kernel, profile.hook,
                    profile.profd_version);
}

}  // namespace profd::store
