#include "daemon/process/module_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/base/proc/maps_parser.h"

namespace profd::process {
namespace {

constexpr std::size_t kFirstDrop = 1'024;

// Not files, but the same in every process.
bool IsShared(std::string_view path) { return path == "[vdso]" || path == "[vsyscall]"; }

ModuleRef MakeModule(const ModuleIdentity& identity, const ModuleHome& home) {
  return std::make_shared<const Module>(Module{.path = identity.path,
                                               .device_major = identity.device_major,
                                               .device_minor = identity.device_minor,
                                               .inode = identity.inode,
                                               .first_pid = home.pid,
                                               .map_start = home.start,
                                               .map_end = home.end,
                                               .mapped_ns = home.since_ns});
}

}  // namespace

ModuleIdentity IdentityOf(std::string path, std::uint32_t device_major, std::uint32_t device_minor,
                          std::uint64_t inode, std::uint32_t pid) {
  // The kernel appends it to the name of a file that has none any more. The file is the same, so
  // the name must not make a difference; that it cannot be opened by that name shows by itself.
  if (path == "//anon") path.clear();
  if (inode != 0) path.resize(WithoutDeleted(path).size());
  const bool anonymous = inode == 0 && !IsShared(path);
  return {std::move(path), device_major, device_minor, inode, anonymous ? pid : 0};
}

bool IsAnonymous(const Module& module) { return module.inode == 0 && !IsShared(module.path); }

ModuleTable::ModuleTable(std::size_t max_modules, IsAlive is_alive)
    : max_modules_(max_modules),
      is_alive_(std::move(is_alive)),
      kernel_(MakeModule({.path = "[kernel]"}, {})),
      drop_at_(std::min(kFirstDrop, max_modules)) {}

ModuleRef ModuleTable::Intern(const ModuleIdentity& identity, const ModuleHome& home) {
  const auto found = modules_.find(identity);
  if (found != modules_.end()) {
    ModuleRef module = found->second.lock();
    if (module && (module->first_pid == home.pid || is_alive_(module->first_pid))) return module;
    module = MakeModule(identity, home);
    found->second = module;
    return module;
  }
  if (modules_.size() >= drop_at_) DropUnused();
  if (modules_.size() >= max_modules_) {
    ++refused_;
    return nullptr;
  }
  ModuleRef module = MakeModule(identity, home);
  modules_.emplace(identity, module);
  return module;
}

ModuleRef ModuleTable::Renew(const ModuleIdentity& identity, const ModuleHome& home) {
  modules_.erase(identity);
  return Intern(identity, home);
}

ModuleRef ModuleTable::Rehome(const ModuleRef& module, const ModuleHome& home) {
  if (!module || module->first_pid == home.pid || !is_alive_(home.pid)) return module;
  if (!IsAnonymous(*module) && is_alive_(module->first_pid)) return module;
  const ModuleRef moved = Intern(
      IdentityOf(module->path, module->device_major, module->device_minor, module->inode, home.pid),
      home);
  return moved ? moved : module;
}

void ModuleTable::DropUnused() {
  std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
  // Looking again only after it has grown by as much as is in use keeps the cost per entry
  // constant.
  drop_at_ = std::min(std::max(kFirstDrop, 2 * modules_.size()), max_modules_);
}

std::size_t ModuleTable::Hash::operator()(const ModuleIdentity& identity) const {
  const std::uint64_t device = (std::uint64_t{identity.device_major} << 32) | identity.device_minor;
  return std::hash<std::string>{}(identity.path) ^
         MixBits(identity.inode ^ MixBits(device ^ MixBits(identity.owner)));
}

}  // namespace profd::process
