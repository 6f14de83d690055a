// LruCache: a bounded map that discards the entries that were used longest ago.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

namespace profd {

// Each entry has a cost in a unit of its owner's choice, such as bytes. When an entry is added or
// becomes more expensive, the least recently used ones are discarded until the number of entries
// and the sum of their costs are within the bounds. The entry in use always stays, also when it
// alone is beyond a bound. All operations but EraseIf, ForEach and Clear take constant time.
// Pointers to values stay valid until the entry is removed. Used by one thread.
template <typename Key, typename Value, typename Hash = std::hash<Key>,
          typename Equal = std::equal_to<Key>>
class LruCache {
  struct Node {
    Value value;
    std::size_t cost = 0;
    const Key* key = nullptr;
    Node* newer = nullptr;
    Node* older = nullptr;
  };
  using Nodes = std::unordered_map<Key, Node, Hash, Equal>;

 public:
  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  // Memory of an entry beside what its key and value own: the node, its bucket, and malloc's part.
  static constexpr std::size_t kEntryBytes = sizeof(typename Nodes::value_type) + 40;

  // Is called with each entry that a bound, Shrink or DiscardOldest discards, after the cache has
  // given it up. Not for entries that the owner erases, clears or replaces.
  using Discarded = std::function<void(const Key& key, Value& value)>;

  explicit LruCache(std::size_t max_entries, std::size_t max_cost = kUnbounded,
                    Discarded discarded = nullptr)
      : max_entries_(max_entries), max_cost_(max_cost), discarded_(std::move(discarded)) {}
  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;
  ~LruCache() = default;

  // Null when the key is not there. The entry becomes the most recently used one.
  [[nodiscard]] Value* Find(const Key& key) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) return nullptr;
    Touch(found->second);
    return &found->second.value;
  }

  // The same, but the order of use stays.
  [[nodiscard]] const Value* Peek(const Key& key) const {
    const auto found = nodes_.find(key);
    return found == nodes_.end() ? nullptr : &found->second.value;
  }

  // Adds or replaces an entry, which becomes the most recently used one.
  Value& Put(const Key& key, Value value, std::size_t cost = 1) {
    auto place = nodes_.find(key);
    if (place != nodes_.end()) {
      place->second.value = std::move(value);
      Touch(place->second);
    } else {
      place = nodes_.emplace(key, Node{std::move(value)}).first;
      place->second.key = &place->first;
      Link(place->second);
    }
    Node& node = place->second;
    SetCost(node, cost);
    return node.value;
  }

  // The entry becomes the most recently used one and has this cost from now on. The key must be
  // there.
  void Charge(const Key& key, std::size_t cost) {
    Node& node = nodes_.find(key)->second;
    Touch(node);
    SetCost(node, cost);
  }

  // Whether the key was there.
  bool Erase(const Key& key) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) return false;
    Remove(found);
    return true;
  }

  // `predicate(key, value)` says which entries are removed.
  template <typename Predicate>
  void EraseIf(const Predicate& predicate) {
    for (auto at = nodes_.begin(); at != nodes_.end();) {
      const auto next = std::next(at);
      if (predicate(at->first, at->second.value)) Remove(at);
      at = next;
    }
  }

  // `visit(key, value)`, in no certain order.
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (auto& [key, node] : nodes_) visit(key, node.value);
  }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [key, node] : nodes_) visit(key, node.value);
  }

  // The least recently used key; null when the cache is empty.
  [[nodiscard]] const Key* oldest() const { return oldest_ == nullptr ? nullptr : oldest_->key; }

  // False when the cache is empty.
  bool DiscardOldest() {
    if (oldest_ == nullptr) return false;
    auto node = Extract(nodes_.find(*oldest_->key));
    if (discarded_) discarded_(node.key(), node.mapped().value);
    return true;
  }

  // Discards entries until all together cost at most this; 0: all of them.
  void Shrink(std::size_t max_cost) {
    while (cost_ > max_cost && DiscardOldest()) {
    }
  }

  void Clear() {
    nodes_.clear();
    newest_ = oldest_ = nullptr;
    cost_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  // Of all entries.
  [[nodiscard]] std::size_t cost() const { return cost_; }

 private:
  void SetCost(Node& node, std::size_t cost) {
    cost_ = cost_ - node.cost + cost;
    node.cost = cost;
    while ((nodes_.size() > max_entries_ || cost_ > max_cost_) && oldest_ != &node) DiscardOldest();
  }

  void Touch(Node& node) {
    if (newest_ == &node) return;
    Unlink(node);
    Link(node);
  }

  void Link(Node& node) {
    node.older = newest_;
    node.newer = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer) = &node;
    newest_ = &node;
  }

  void Unlink(Node& node) {
    (node.newer == nullptr ? newest_ : node.newer->older) = node.older;
    (node.older == nullptr ? oldest_ : node.older->newer) = node.newer;
  }

  typename Nodes::node_type Extract(typename Nodes::iterator entry) {
    Unlink(entry->second);
    cost_ -= entry->second.cost;
    return nodes_.extract(entry);
  }

  void Remove(typename Nodes::iterator entry) {
    // The value is destroyed when the cache no longer knows it.
    const auto node = Extract(entry);
  }

  const std::size_t max_entries_;
  const std::size_t max_cost_;
  const Discarded discarded_;
  Nodes nodes_;
  Node* newest_ = nullptr;
  Node* oldest_ = nullptr;
  std::size_t cost_ = 0;
};

}  // namespace profd
