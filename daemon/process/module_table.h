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

// What makes two mappings show the same file. Anonymous memory differs from process to process,
// since what lies in it does; the vdso is the same everywhere.
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

// A mapping that shows no file: what lies in it has no offset but its address.
[[nodiscard]] bool IsAnonymous(const Module& module);

// Where a module can be found: a process that maps it, and one mapping of it there.
struct ModuleHome {
  std::uint32_t pid = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// Holds modules only as long as somebody else does. A module whose home has ended can no longer be
// opened through it: whoever maps the file next gets a new object with a home that lives, and so
// does Rehome(). Owned by ProcessTable; used by the worker thread.
class ModuleTable {
 public:
  using IsAlive = std::function<bool(std::uint32_t pid)>;

  ModuleTable(std::size_t max_modules, IsAlive is_alive);

  // Null when there are `max_modules` in use already; counted.
  [[nodiscard]] ModuleRef Intern(const ModuleIdentity& identity, const ModuleHome& home);
  // `module`, or one of the same file with a home that lives when `home` does; anonymous memory
  // that was inherited becomes the heir's own.
  [[nodiscard]] ModuleRef Rehome(const ModuleRef& module, const ModuleHome& home);
  // All of the kernel, with its modules and BPF programs.
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
  std::size_t drop_at_;  // size at which unused entries are looked for
  std::uint64_t refused_ = 0;
};

}  // namespace profd::process
