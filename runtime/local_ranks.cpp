#include "runtime/local_ranks.hpp"

#include <exception>
#include <thread>
#include <vector>

#include "pmi/threads.hpp"
#include "runtime/context_state.hpp"

namespace godwit::runtime {

void run_local_ranks(int size, const std::function<void(Context&)>& body, const ContextOptions& options) {
  pmi::ThreadJob job(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (Rank rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          Context context(make_context(job.join(rank), options));
          try {
            body(context);
          } catch (const std::exception& error) {
            errors[static_cast<std::size_t>(rank)] = std::current_exception();
            context.world().abort(error.what());
          }
        } catch (...) {
          errors[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  // An `aborted` is only the echo of somebody else's failure.
  std::exception_ptr echo;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error& known) {
      if (known.code() != ErrorCode::aborted) throw;
      echo = error;
    }
  }
  if (echo) std::rethrow_exception(echo);
}

}  // namespace godwit::runtime
