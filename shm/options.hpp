// Options of the shared-memory transport.
#pragma once

#include "core/options.hpp"

namespace godwit::shm {

struct ShmOptions : core::OptionGroup {
  ShmOptions();

  core::Option<core::Bytes> ring;
  core::Option<core::Bytes> message;
  core::Option<core::Choice> cma;
};

}  // namespace godwit::shm
