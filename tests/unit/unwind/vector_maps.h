// The maps of unwind tables in plain memory; waits for readers as the kernel waits for programs.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <vector>

#include "daemon/source/bpf/unwind_maps.h"

namespace profd::unwind {

// `readers` plays the part of RCU: each reader holds it shared. Synchronize takes it once.
class VectorPoolMemory : public source::PoolMemory {
 public:
  VectorPoolMemory()
      : base_(static_cast<std::byte*>(
            ::mmap(nullptr, kSlabBytes * PROFD_MAX_SLABS, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~VectorPoolMemory() override { ::munmap(base_, kSlabBytes * PROFD_MAX_SLABS); }
  VectorPoolMemory(const VectorPoolMemory&) = delete;
  VectorPoolMemory& operator=(const VectorPoolMemory&) = delete;

  [[nodiscard]] std::byte* base() const override { return base_; }
  [[nodiscard]] Result<void> AddSlab() override {
    if (slabs == PROFD_MAX_SLABS) return Error{ErrorCode::kExhausted, "all slabs are there", ""};
    ++slabs;
    return {};
  }
  [[nodiscard]] Result<void> Synchronize() override {
    if (broken) return Error{ErrorCode::kExhausted, "no memory to wait", ""};
    ++waits;
    const std::scoped_lock all_ended(readers);
    return {};
  }

  std::size_t slabs = 0;
  std::size_t waits = 0;
  bool broken = false;  // Synchronize fails
  std::shared_mutex readers;

 private:
  std::byte* const base_;
};

class VectorFileMaps : public source::FileMaps {
 public:
  VectorFileMaps() : files_(PROFD_MAX_UNWIND_FILES) {}

  [[nodiscard]] std::span<profd_unwind_file> files() override { return files_; }
  [[nodiscard]] Result<void> Insert(const profd_file_key& key, std::uint32_t index) override {
    const std::scoped_lock lock(mutex_);
    ids_[Tuple(key)] = index;
    return {};
  }
  void Erase(const profd_file_key& key) override {
    const std::scoped_lock lock(mutex_);
    ids_.erase(Tuple(key));
  }
  void SetTick(std::uint32_t value) override { tick = value; }
  [[nodiscard]] std::uint64_t bytes() const override { return 1u << 20; }

  [[nodiscard]] profd_unwind_file* Find(const profd_file_key& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = ids_.find(Tuple(key));
    return found == ids_.end() ? nullptr : &files_[found->second];
  }
  [[nodiscard]] std::size_t ids() {
    const std::scoped_lock lock(mutex_);
    return ids_.size();
  }

  std::atomic<std::uint32_t> tick = 0;

 private:
  using Id = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t>;
  static Id Tuple(const profd_file_key& key) {
    return {key.inode, key.size, key.mtime_ns, key.device, key.generation};
  }
  std::mutex mutex_;
  std::map<Id, std::uint32_t> ids_;
  std::vector<profd_unwind_file> files_;
};

}  // namespace profd::unwind
