// EqualRows: rows that differ in nothing but their numbers become one; values get numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace profd::fleet {

// Sorts rows by `key`, and adds up `count` and `ns` of those with equal ones.
template <typename Row, typename Key>
void SumEqual(std::vector<Row>& rows, Key key) {
  std::ranges::sort(rows, {}, key);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kept != 0 && key(rows[kept - 1]) == key(rows[i])) {
      rows[kept - 1].count += rows[i].count;
      rows[kept - 1].ns += rows[i].ns;
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
}

// Numbers of texts or label sets, by their first use.
template <typename Value>
class Numbering {
 public:
  // `values` outlives this: the values, by number.
  explicit Numbering(std::vector<Value>& values) : values_(values) {}
  std::uint32_t operator()(const Value& value) {
    const auto next = static_cast<std::uint32_t>(values_.size());
    const auto [known, added] = numbers_.emplace(value, next);
    if (added) values_.push_back(value);
    return known->second;
  }

 private:
  std::vector<Value>& values_;
  std::map<Value, std::uint32_t> numbers_;
};

}  // namespace profd::fleet
