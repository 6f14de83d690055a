// MakeTemporary: an empty file without a name, as readers get it from their opener.
#pragma once

#include <utility>

#include "daemon/reader/opener.h"

namespace profd::test {

inline Result<UniqueFd> MakeTemporary() {
  auto file = reader::Opener().Open({.what = reader::OpenRequest::What::kTemporary});
  return file ? Result<UniqueFd>(std::move(file->fd)) : file.error();
}

}  // namespace profd::test
