// The bootstrap that this process's environment asks for.
#pragma once

#include "core/bootstrap.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "pmi/settings.hpp"

#include <memory>

namespace godwit::pmi {

/// GODWIT_STARTUP_TIMEOUT, GODWIT_SECRET, GODWIT_PORT, GODWIT_SOCKET_IFNAME (core::CoreOptions).
BootstrapSettings settings_of(const core::OptionSet& options);

/// PMIx, the TCP store, or a job of one process: see choose_method. Joins the job. Throws Error(bootstrap).
std::unique_ptr<core::Bootstrap> select_bootstrap(const core::OptionSet& options, core::Log& log);
/// With given variables, for tests. PMIx itself reads only the process's environment.
std::unique_ptr<core::Bootstrap> select_bootstrap(const BootstrapSettings& settings, core::Log& log,
                                                  const Variables& variables);

}  // namespace godwit::pmi
