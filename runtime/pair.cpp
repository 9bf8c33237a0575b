#include "runtime/pair.hpp"

#include "core/core_options.hpp"
#include "runtime/context_state.hpp"

namespace godwit::runtime {

Context open_pair(const pmi::PairEnd& end, const ContextOptions& wishes, const std::function<void()>& on_listening) {
  auto options = make_options();
  auto notes = options->load(core::OptionSet::environment(), wishes.set);
  const auto& core_options = options->get<core::CoreOptions>();
  auto log = std::make_unique<core::Log>(core_options.log_level(), *core_options.debug_file);
  auto bootstrap = pmi::join_pair(end, *options, *log);
  if (end.is_server()) on_listening();
  return Context(std::make_shared<detail::ContextState>(std::move(options), std::move(notes), std::move(bootstrap),
                                                        std::move(log), wishes.threads));
}

}  // namespace godwit::runtime
