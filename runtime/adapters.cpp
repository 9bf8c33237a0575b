#include "runtime/adapters.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/core_options.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "runtime/context_state.hpp"
#include "verbs/choice.hpp"
#include "verbs/discovery.hpp"

namespace godwit::runtime {
namespace {

PortUse& use_of(std::vector<Adapter>& adapters, std::size_t device, unsigned port) {
  Adapter& adapter = adapters.at(device);
  const auto found = std::ranges::find(adapter.facts.ports, port, &verbs::PortFacts::number);
  return adapter.uses.at(static_cast<std::size_t>(found - adapter.facts.ports.begin()));
}

}  // namespace

Adapters find_adapters() {
  const auto options = make_options();
  options->load(core::OptionSet::environment(), {});
  const auto& core_options = options->get<core::CoreOptions>();
  core::Log log(core_options.log_level(), *core_options.debug_file);
  const std::vector<verbs::DeviceFacts> devices = verbs::discover(verbs::system_api(), log);
  Adapters result;
  for (const verbs::DeviceFacts& facts : devices)
    result.adapters.push_back({facts, std::vector<PortUse>(facts.ports.size())});
  try {
    const auto& verbs_options = options->get<verbs::VerbsOptions>();
    verbs::PortChoices choices = verbs::choose_ports(devices, verbs_options, verbs::placement_here());
    const std::size_t rails = verbs::rails_in_use(devices, choices.ports, verbs_options);
    for (std::size_t i = 0; i < choices.ports.size(); ++i) {
      verbs::PortChoice& choice = choices.ports[i];
      PortUse& use = use_of(result.adapters, choice.device, choice.port);
      use.used = i < rails;
      if (choice.gid) use.gid_index = choice.gid->index;
      if (use.used && rails > 1) use.rail = static_cast<unsigned>(i);
      use.reason = std::move(choice.reason);
      if (!use.used)
        use.reason += rails == static_cast<std::size_t>(*verbs_options.rails)
                          ? fmt::format("; but no more than {} at a time (GODWIT_IB_RAILS)", rails)
                          : std::string(
                                "; but those in use together are of one protocol and link layer, and not "
                                "connected by rdma_cm");
    }
    for (verbs::PortLeftOut& left : choices.left_out)
      use_of(result.adapters, left.device, left.port).reason = std::move(left.reason);
    result.warnings = std::move(choices.warnings);
  } catch (const Error& error) {
    result.problem = error.what();
  }
  return result;
}

}  // namespace godwit::runtime
