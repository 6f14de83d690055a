// JoinedStacks: frames, modules, stacks, rules and other tables of a joined profile.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Numbers that another profile's entries have in the joined one.
struct StackPlaces {
  std::vector<std::uint32_t> node;    // by node, 0 included
  std::vector<std::uint32_t> rule;    // by 1 + index
  std::vector<std::uint32_t> labels;  // by 1 + index
  std::vector<std::uint32_t> source;  // of steps, by index
  std::vector<std::uint32_t> name;    // of steps, by index
};

// Equal entries become one; those of the first profile keep their numbers. Modules are equal if
// they are one file with the same sources of names: what is known of its code is added up.
// Functions of a kernel have other addresses on each host: the first one's stands.
class JoinedStacks {
 public:
  // `joined` outlives this, and has its first profile already when Begin is called.
  explicit JoinedStacks(v1::Profile& joined) : joined_(joined) {}
  JoinedStacks(const JoinedStacks&) = delete;
  JoinedStacks& operator=(const JoinedStacks&) = delete;

  // Learns the entries of the first profile. Once.
  void Begin();
  [[nodiscard]] StackPlaces Add(const v1::Profile& profile);
  // A step behind one of the joined paths, with all its numbers.
  [[nodiscard]] std::uint32_t Path(const v1::PathNode& path);

 private:
  using Places = std::unordered_map<std::string, std::uint32_t>;

  [[nodiscard]] std::uint32_t Module(const v1::Module& module);
  [[nodiscard]] std::vector<std::uint32_t> Modules(const v1::Profile& profile);
  [[nodiscard]] std::vector<std::uint32_t> Frames(const v1::Profile& profile);

  v1::Profile& joined_;
  Places modules_;
  Places operators_;
  Places frames_;
  Places rules_;
  Places label_sets_;
  Places sources_;
  Places names_;
  Places paths_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;  // by parent and frame
};

}  // namespace profd::client
