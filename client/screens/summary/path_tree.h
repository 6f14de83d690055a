// PathTree: stacks with equal names merged into a tree, by state and wait reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Time in the stacks that go through a place in the tree.
struct PathWeight {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
  std::uint64_t exact_ns = 0;

  PathWeight& operator+=(const PathWeight& other);
  PathWeight& operator-=(const PathWeight& other);
};

// Grows by Add; nodes are numbered, 0 is the root, its children are one for each state and reason.
// Differs from the profile's own tree in that frames are equal when their names are.
class PathTree {
 public:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;
    PathWeight weight;  // of the node and all below it
    std::vector<std::uint32_t> children;
  };

  // The profile must have passed CheckProfile and outlive the tree.
  explicit PathTree(const v1::Profile& profile);
  // Adds sample number `index`.
  void Add(int index);

  [[nodiscard]] const Node& node(std::uint32_t index) const { return nodes_[index]; }
  [[nodiscard]] const std::string& NameOf(std::uint32_t node) const;
  [[nodiscard]] bool IsPython(std::uint32_t node) const;
  // Of the state node above `node`.
  [[nodiscard]] std::pair<v1::State, v1::WaitReason> StateOf(std::uint32_t node) const;

 private:
  std::uint32_t Intern(std::string name);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t name);
  std::vector<std::uint32_t> NamesOfStack(std::uint32_t leaf, v1::State state);

  const v1::Profile& profile_;
  std::vector<std::uint32_t> frame_names_;  // by index into Profile.frames
  std::vector<std::string> names_;
  std::vector<bool> python_names_;  // by number of the name
  std::map<std::string, std::uint32_t, std::less<>> name_ids_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> edges_;
  std::map<std::uint32_t, std::pair<v1::State, v1::WaitReason>> states_;  // by state node
};

}  // namespace profd::client
