// Everything but coroutines: #include <godwit/godwit.hpp>
#pragma once

#include <godwit/buffer.hpp>
#include <godwit/collective.hpp>
#include <godwit/communicator.hpp>
#include <godwit/context.hpp>
#include <godwit/error.hpp>
#include <godwit/memory.hpp>
#include <godwit/request.hpp>
#include <godwit/types.hpp>
#include <godwit/version.hpp>
#include <godwit/window.hpp>
