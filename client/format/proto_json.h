// ProtoJson: a message as JSON, with numbers that every JSON reader can hold.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace profd::client {

// The JSON mapping of protobuf with the field names of the .proto file, but for 64 bit numbers:
// those that IsJsonNumber are numbers, larger ones are strings, as protobuf writes all of them.
// protobuf's own writer cannot do that before version 27. Its reader takes both. Maps and bytes are
// not supported: the profile has none.
[[nodiscard]] std::string ProtoJson(const google::protobuf::Message& message);

}  // namespace profd::client
