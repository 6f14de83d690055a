// ModuleTable: one Module object for each file that is mapped, however many processes map it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/process/sample.h"

namespace profd::process {

// Two mappings with equal identities map the same file. Anonymous memory of each process has an
// identity of its own, because its contents differ; the vdso is the same in all processes.
struct ModuleIdentity {
  std::string path;  // without " (deleted)"
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;  // pid, for anonymous memory; else 0
  friend bool operator==(const ModuleIdentity&, const ModuleIdentity&) = default;
};

// `path` as the kernel writes it, in /proc/PID/maps or in a perf record.
[[nodiscard]] ModuleIdentity IdentityOf(std::string path, std::uint32_t device_major,
                                        std::uint32_t device_minor, std::uint64_t inode,
                                        std::uint32_t pid);

// A mapping without a file: its addresses stand for offsets.
[[nodiscard]] bool IsAnonymous(const Module& module);

// Through which process a module can be opened: its pid, and one mapping of the module.
struct ModuleHome {
  std::uint32_t pid = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t since_ns = 0;
};

// Job: makes sure that all mappings of a file share one Module. It does not keep a module alive.
// After its home process has ended, a module can no longer be opened; then Intern() and Rehome()
// return a new object of the same file with a living home.
// Thread: the worker. Owner: ProcessTable.
class ModuleTable {
 public:
  using IsAlive = std::function<bool(std::uint32_t pid)>;

  ModuleTable(std::size_t max_modules, IsAlive is_alive);

  // Null, and counted: `max_modules` are in use.
  [[nodiscard]] ModuleRef Intern(const ModuleIdentity& identity, const ModuleHome& home);
  // The same, but always a new object: the contents of the file may be others by now.
  [[nodiscard]] ModuleRef Renew(const ModuleIdentity& identity, const ModuleHome& home);
  // `module` if its home lives, else a module of the same file with this home. Anonymous memory
  // that a fork has copied becomes a module of the child.
  [[nodiscard]] ModuleRef Rehome(const ModuleRef& module, const ModuleHome& home);
  // The kernel with its modules and BPF programs.
  [[nodiscard]] const ModuleRef& kernel() const { return kernel_; }

  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::size_t size() const { return modules_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const ModuleIdentity& identity) const;
  };

  void DropUnused();

  const std::size_t max_modules_;
  const IsAlive is_alive_;
  const ModuleRef kernel_;
  std::unordered_map<ModuleIdentity, std::weak_ptr<const Module>, Hash> modules_;
  std::size_t drop_at_;  // size at which unused entries are removed
  std::uint64_t refused_ = 0;
};

}  // namespace profd::process
