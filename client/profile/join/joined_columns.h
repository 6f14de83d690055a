// JoinedColumns: columns of samples, events and switches, one behind the other.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

template <typename Value, typename Map>
void AppendMapped(const google::protobuf::RepeatedField<Value>& from,
                  google::protobuf::RepeatedField<Value>& to, const Map& map) {
  to.Reserve(to.size() + from.size());
  for (const Value value : from) to.Add(map(value));
}

// A column that is empty where all are 0: `rows` are there already, and `more` come.
template <typename Value, typename Map>
void AppendOrZero(const google::protobuf::RepeatedField<Value>& from, int rows, int more,
                  google::protobuf::RepeatedField<Value>& to, const Map& map) {
  if (from.empty() && to.empty()) return;
  to.Resize(rows, Value{});
  if (from.empty())
    to.Resize(rows + more, Value{});
  else
    AppendMapped(from, to, map);
}

// The columns of samples whose being empty does not mean 0 but that nothing is known: they are left
// out as soon as one profile lacks them. Used by one thread.
class OptionalColumns {
 public:
  // Of the profile that comes first.
  void Begin(const v1::Profile& profile);
  // After the other columns of `profile` were appended.
  void Add(const v1::Profile& profile, v1::Samples& joined);
  [[nodiscard]] bool edges_left_out() const { return edges_left_out_; }

 private:
  bool edges_known_ = true;
  bool edges_left_out_ = false;  // some profile had them
};

// Puts samples, or events of steps, in order of time; those of one time stay in theirs.
void SortByTime(v1::Samples& samples);
void SortByTime(v1::StepEvents& events);

}  // namespace profd::client
