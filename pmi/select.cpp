#include "pmi/select.hpp"

#include "core/core_options.hpp"
#include "pmi/environment.hpp"
#include "pmi/pmix_bootstrap.hpp"
#include "pmi/singleton.hpp"
#include "pmi/tcp_store.hpp"

#include <godwit/error.hpp>

namespace godwit::pmi {

BootstrapSettings settings_of(const core::OptionSet& options) {
  const auto& core = options.get<core::CoreOptions>();
  BootstrapSettings settings;
  settings.deadline_s = core.startup_timeout->value;
  settings.secret = core.secret->value;
  settings.interfaces = *core.socket_ifname;
  if (*core.port != 0) settings.port = static_cast<std::uint16_t>(*core.port);
  return settings;
}

std::unique_ptr<core::Bootstrap> select_bootstrap(const core::OptionSet& options, core::Log& log) {
  return select_bootstrap(settings_of(options), log, environment_variables());
}

std::unique_ptr<core::Bootstrap> select_bootstrap(const BootstrapSettings& settings, core::Log& log,
                                                  const Variables& variables) {
  switch (choose_method(variables)) {
    case Method::pmix: return std::make_unique<PmixBootstrap>(variables, settings, log);
    case Method::tcp_store: return std::make_unique<TcpStoreBootstrap>(variables, settings, log);
    case Method::single: return std::make_unique<SingletonBootstrap>();
  }
  throw Error(ErrorCode::internal, "no such way to start");
}

}  // namespace godwit::pmi
