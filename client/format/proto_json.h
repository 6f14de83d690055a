// ProtoJson: a message as JSON, with numbers that every JSON reader can hold, and back.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace google::protobuf {
class Message;
}

namespace profd::client {

// The JSON mapping of protobuf with the field names of the .proto file, but for 64 bit numbers:
// those that IsJsonNumber are numbers, larger ones are strings, as protobuf writes all of them.
// protobuf's own writer cannot do that before version 27. Maps are of texts. Bytes are not
// supported: the profile has none.
[[nodiscard]] std::string ProtoJson(const google::protobuf::Message& message);

// What ProtoJson or protobuf has written: names as in the .proto file or in camelCase, numbers also
// as strings, null for nothing. Fields and enum values that are not known are left out; a value of
// a repeated enum that is not known is 0. `message` is empty before. kCorrupt: it is no such JSON;
// then part of the message may be there. `text` gets room for the parser behind its end.
[[nodiscard]] Result<void> ReadProtoJson(std::string& text, google::protobuf::Message& message);

}  // namespace profd::client
