// What every component gets from its context, in one reference.
#pragma once

#include "core/clock.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "core/service_thread.hpp"

namespace godwit::core {

struct Services {
  const OptionSet& options;
  Log& log;
  Clock& clock;
  ServiceThread& service;
};

}  // namespace godwit::core
