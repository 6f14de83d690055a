// Identity of processes and threads: numbers are reused, so every key carries a start time.
#pragma once

#include <cstdint>
#include <functional>

namespace profd {

// `pid` is the tgid as seen in profd's pid namespace; `start_ns` the group leader's start_boottime.
struct ProcessKey {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

// `tid` as seen in profd's pid namespace; `start_ns` the task's start_boottime.
struct ThreadKey {
  std::uint32_t tid = 0;
  std::uint64_t start_ns = 0;
  friend auto operator<=>(const ThreadKey&, const ThreadKey&) = default;
};

// 64 bit mix (the finalizer of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t MixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace profd

template <>
struct std::hash<profd::ProcessKey> {
  std::size_t operator()(const profd::ProcessKey& key) const {
    return profd::MixBits(key.start_ns ^ profd::MixBits(key.pid));
  }
};

template <>
struct std::hash<profd::ThreadKey> {
  std::size_t operator()(const profd::ThreadKey& key) const {
    return profd::MixBits(key.start_ns ^ profd::MixBits(key.tid));
  }
};
