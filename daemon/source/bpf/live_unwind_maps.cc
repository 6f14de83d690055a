#include "daemon/source/bpf/live_unwind_maps.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>

namespace profd::source {
namespace {

constexpr std::size_t kPoolBytes = PoolMemory::kSlabBytes * PROFD_MAX_SLABS;
constexpr std::size_t kFilesBytes = PROFD_MAX_UNWIND_FILES * sizeof(profd_unwind_file);

}  // namespace

Result<std::unique_ptr<LiveUnwindMaps>> LiveUnwindMaps::Create(const Maps& maps) {
  std::unique_ptr<LiveUnwindMaps> made(new LiveUnwindMaps(maps));
  void* base =
      ::mmap(nullptr, kPoolBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return ErrorFromErrno(errno, "cannot reserve room for unwind tables");
  made->base_ = static_cast<std::byte*>(base);
  void* files = ::mmap(nullptr, kFilesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, maps.files_fd, 0);
  if (files == MAP_FAILED) return ErrorFromErrno(errno, "cannot map the list of unwind tables");
  made->files_ = static_cast<profd_unwind_file*>(files);
  return made;
}

LiveUnwindMaps::~LiveUnwindMaps() {
  if (files_ != nullptr) ::munmap(files_, kFilesBytes);
  if (base_ != nullptr) ::munmap(base_, kPoolBytes);
}

Result<void> LiveUnwindMaps::AddSlab() {
  if (slabs_ == PROFD_MAX_SLABS)
    return Error{ErrorCode::kExhausted, "the pool of unwind tables has all its slabs", ""};
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  UniqueFd slab(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(__u32),
                                 PROFD_POOL_PAGE_BYTES, PROFD_SLAB_PAGES, &options));
  if (!slab.valid()) return ErrorFromErrno(errno, "cannot make a slab of unwind tables");
  std::byte* at = base_ + slabs_ * kSlabBytes;
  if (::mmap(at, kSlabBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, slab.get(), 0) ==
      MAP_FAILED)
    return ErrorFromErrno(errno, "cannot map a slab of unwind tables");
  const int fd = slab.get();
  if (::bpf_map_update_elem(maps_.pool_fd, &slabs_, &fd, BPF_ANY) != 0)
    return ErrorFromErrno(errno, "cannot add a slab of unwind tables");
  if (slabs_ == 0) first_slab_ = std::move(slab);
  ++slabs_;
  return {};
}

Result<void> LiveUnwindMaps::Synchronize() {
  // Putting the first slab in its place once more changes nothing, but the kernel waits for all
  // programs that may hold what was there.
  const std::scoped_lock no_snapshot(*maps_.snapshot);
  const __u32 first = 0;
  const int fd = first_slab_.get();
  if (fd >= 0 && ::bpf_map_update_elem(maps_.pool_fd, &first, &fd, BPF_ANY) != 0)
    return ErrorFromErrno(errno, "cannot wait for programs that read unwind tables");
  return {};
}

std::span<profd_unwind_file> LiveUnwindMaps::files() { return {files_, PROFD_MAX_UNWIND_FILES}; }

Result<void> LiveUnwindMaps::Insert(const profd_file_key& key, std::uint32_t index) {
  if (::bpf_map_update_elem(maps_.file_ids_fd, &key, &index, BPF_ANY) != 0)
    return ErrorFromErrno(errno, "cannot list a file with unwind tables");
  return {};
}

void LiveUnwindMaps::Erase(const profd_file_key& key) {
  (void)::bpf_map_delete_elem(maps_.file_ids_fd, &key);
}

void LiveUnwindMaps::SetTick(std::uint32_t tick) {
  std::atomic_ref(maps_.control->tick).store(tick, std::memory_order_relaxed);
}

}  // namespace profd::source
