#include "pmi/pmix_events.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace godwit::pmi {

struct DeathEvents::State {
  pmix_proc_t me{};
  std::mutex mutex;  // held while the handler runs
  Handler handler;
  InfoList info;  // PMIx reads it until the registration is done
  Reply registered;
  std::size_t id = 0;
};

namespace {

using State = DeathEvents::State;

// Explicit codes: handlers for "any event" did not get deaths from PMIx 4.2 servers.
std::array<pmix_status_t, 6> death_codes{PMIX_ERR_PROC_ABORTED,         PMIX_ERR_PROC_ABORTED_BY_SIG,
                                         PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_TERM_WO_SYNC,
                                         PMIX_ERR_EXIT_NONZERO_TERM,    PMIX_ERR_PROC_KILLED_BY_CMD};

std::string reason_of(pmix_status_t code, std::optional<int> exit_code) {
  if (!exit_code) return fmt::format("the launcher reports its death: {}", pmix_words(code));
  if (*exit_code > 128) {
    const int signal = *exit_code - 128;
    return fmt::format("the launcher reports that it was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("the launcher reports that it ended with exit status {}", *exit_code);
}

void pass_on(State& state, pmix_status_t code, const pmix_proc_t& dead, std::optional<int> exit_code) {
  if (!PMIX_CHECK_NSPACE(dead.nspace, state.me.nspace) || dead.rank == state.me.rank || dead.rank > PMIX_RANK_VALID)
    return;
  const std::lock_guard lock(state.mutex);
  if (state.handler) state.handler(static_cast<Rank>(dead.rank), reason_of(code, exit_code));
}

void on_event(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], std::size_t info_count,
              pmix_info_t[], std::size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  State* state = nullptr;
  const pmix_proc_t* dead = source;
  std::optional<int> exit_code;
  for (std::size_t i = 0; i < info_count; ++i) {
    const pmix_value_t& value = info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT) && value.type == PMIX_POINTER)
      state = static_cast<State*>(value.data.ptr);
    else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && value.type == PMIX_PROC)
      dead = value.data.proc;
    else if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE) && value.type == PMIX_INT)
      exit_code = value.data.integer;
  }
  if (state != nullptr && dead != nullptr) pass_on(*state, code, *dead, exit_code);
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

void on_registered(pmix_status_t status, std::size_t id, void* data) {
  const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(data));
  (*state)->id = id;
  (*state)->registered.finish(status);
}

}  // namespace

DeathEvents::DeathEvents(const pmix_proc_t& me, Reply::Clock::time_point deadline, Handler handler)
    : state_(std::make_shared<State>()) {
  state_->me = me;
  state_->handler = std::move(handler);
  InfoList& info = state_->info;
  info.add_text(PMIX_EVENT_HDLR_NAME, "godwit-deaths");
  info.add_raw(PMIX_EVENT_RETURN_OBJECT, state_.get(), PMIX_POINTER);
  auto token = std::make_unique<std::shared_ptr<State>>(state_);
  const pmix_status_t status = PMIx_Register_event_handler(death_codes.data(), death_codes.size(), info.data(),
                                                           info.size(), on_event, on_registered, token.get());
  const std::string who = fmt::format("rank {}", me.rank);
  if (status != PMIX_SUCCESS) pmix_check(status, who, "PMIx_Register_event_handler");
  static_cast<void>(token.release());  // on_registered deletes it
  pmix_check(state_->registered.wait_until(deadline).value_or(PMIX_ERR_TIMEOUT), who, "PMIx_Register_event_handler");
}

DeathEvents::~DeathEvents() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->handler = nullptr;
  }
  // An event on its way still holds the plain pointer to the state: keep that until the handler is really gone.
  const auto deadline = Reply::Clock::now() + std::chrono::seconds(1);
  const pmix_status_t status = pmix_wait(deadline, [this](pmix_op_cbfunc_t done, void* data) {
    return PMIx_Deregister_event_handler(state_->id, done, data);
  });
  // Leaked on purpose: 400 bytes, and safe.
  if (status != PMIX_SUCCESS) static_cast<void>(std::make_unique<std::shared_ptr<State>>(state_).release());
}

}  // namespace godwit::pmi
