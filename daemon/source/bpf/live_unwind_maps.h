// LiveUnwindMaps: the unwind tables' maps of the loaded programs, mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "bpf/shared/control.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/source/bpf/unwind_maps.h"

namespace profd::source {

// Slabs are inner maps of one array of maps, mapped side by side. Used by one thread; the programs
// must outlive it.
class LiveUnwindMaps : public PoolMemory, public FileMaps {
 public:
  struct Maps {
    int pool_fd = -1;
    int files_fd = -1;
    int file_ids_fd = -1;
    std::uint64_t list_bytes = 0;  // kernel memory of all but the slabs
    profd_control* control = nullptr;
    // Held while the snapshot iterator runs: a change of a map does not wait for programs that may
    // sleep.
    std::mutex* snapshot = nullptr;
  };

  [[nodiscard]] static Result<std::unique_ptr<LiveUnwindMaps>> Create(const Maps& maps);
  LiveUnwindMaps(const LiveUnwindMaps&) = delete;
  LiveUnwindMaps& operator=(const LiveUnwindMaps&) = delete;
  ~LiveUnwindMaps() override;

  [[nodiscard]] std::byte* base() const override { return base_; }
  [[nodiscard]] Result<void> AddSlab() override;
  [[nodiscard]] Result<void> Synchronize() override;

  [[nodiscard]] std::span<profd_unwind_file> files() override;
  [[nodiscard]] Result<void> Insert(const profd_file_key& key, std::uint32_t index) override;
  void Erase(const profd_file_key& key) override;
  void SetTick(std::uint32_t tick) override;
  [[nodiscard]] std::uint64_t bytes() const override { return maps_.list_bytes; }

 private:
  explicit LiveUnwindMaps(const Maps& maps) : maps_(maps) {}

  const Maps maps_;
  std::byte* base_ = nullptr;  // address space for all slabs there may be
  profd_unwind_file* files_ = nullptr;
  std::uint32_t slabs_ = 0;
  UniqueFd first_slab_;
};

}  // namespace profd::source
