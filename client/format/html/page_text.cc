#include "client/format/html/page_text.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

namespace profd::client {

std::string Base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string PolicyHash(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return "'sha256-" + Base64({reinterpret_cast<const char*>(hash.data()), hash.size()}) + "'";
}

}  // namespace profd::client
