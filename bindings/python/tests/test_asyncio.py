import asyncio
import gc
import threading
import weakref

import framewire
import pytest


def test_many_coroutines_are_answered(photos):
    expected = [framewire.resize(photo, size="48x") for photo in photos]

    async def go():
        async with framewire.Engine(codec="turbo", threads=2) as engine:
            answers = await asyncio.gather(*(engine.aresize(p, size="48x") for p in photos * 4))
        with pytest.raises(framewire.EngineClosed):
            await engine.aresize(photos[0])
        return [answer.jpeg for answer in answers]

    assert asyncio.run(go()) == expected * 4


def test_a_full_queue_does_not_block_the_loop(photos, slow_photo):
    async def go():
        async with framewire.Engine(codec="turbo", threads=1, queue=1) as engine:
            slow = asyncio.create_task(engine.aresize(slow_photo, size="1000x"))
            others = [asyncio.create_task(engine.aresize(p, size="48x")) for p in photos * 20]
            ticks = 0
            while not slow.done():
                await asyncio.sleep(0.002)
                ticks += 1
            answers = await asyncio.gather(*others)
            return ticks, len(answers)

    ticks, count = asyncio.run(go())
    assert ticks > 2 and count == 20 * len(photos)


def test_errors_are_raised_where_they_are_awaited(photo):
    async def go():
        async with framewire.Engine(codec="turbo", threads=1) as engine:
            with pytest.raises(framewire.InvalidInput):
                await engine.aresize(b"no JPEG")
            with pytest.raises(TypeError, match="buffer protocol"):
                await engine.aresize("photo.jpg")
            with pytest.raises(framewire.UnknownOption):
                await engine.aresize(photo, sise=3)

    asyncio.run(go())


@pytest.mark.parametrize("queue", [1, None])
def test_cancelling_a_task_cancels_its_request(photo, slow_photo, queue):
    async def go():
        async with framewire.Engine(codec="turbo", threads=1, queue=queue) as engine:
            slow = asyncio.create_task(engine.aresize(slow_photo, size="4000x"))
            await asyncio.sleep(0.02)
            others = [asyncio.create_task(engine.aresize(photo, size="64x")) for _ in range(50)]
            await asyncio.sleep(0)
            for task in others:
                task.cancel()
            done = await asyncio.gather(*others, return_exceptions=True)
            assert all(isinstance(answer, asyncio.CancelledError) for answer in done)
            assert (await slow).jpeg
            assert (await engine.aresize(photo, size="64x")).jpeg
            return engine.stats().host_images

    assert asyncio.run(go()) <= 5


def test_loops_of_several_threads_share_an_engine(photos):
    with framewire.Engine(codec="turbo", threads=2) as engine:
        counts = []

        async def go():
            answers = await asyncio.gather(*(engine.aresize(p, size="32x") for p in photos))
            counts.append(len(answers))

        threads = [threading.Thread(target=lambda: asyncio.run(go())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [len(photos)] * 4


def test_a_loop_is_woken_once_a_group(photos):
    """Fewer calls into the loop than answers."""

    async def go():
        loop = asyncio.get_running_loop()
        calls = 0
        original = loop.call_soon_threadsafe

        def counted(*arguments, **keywords):
            nonlocal calls
            calls += 1
            return original(*arguments, **keywords)

        with framewire.Engine(codec="turbo", threads=1) as engine:
            loop.call_soon_threadsafe = counted
            tasks = [asyncio.create_task(engine.aresize(p, size="16x")) for p in photos * 10]
            await asyncio.sleep(0)
            while engine.stats().host_images < len(tasks):
                pass  # the GIL is kept, so that answers gather
            await asyncio.gather(*tasks)
        return calls, len(tasks)

    calls, answers = asyncio.run(go())
    assert 0 < calls < answers


def test_a_loop_that_is_gone_harms_nobody(slow_photo, photo):
    with framewire.Engine(codec="turbo", threads=1) as engine:
        loop = asyncio.new_event_loop()
        task = loop.create_task(engine.aresize(slow_photo, size="64x"))
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        assert engine.submit(photo, size="32x").result().jpeg
        task._log_destroy_pending = False


def test_a_bad_input_fails_alone_while_others_wait_their_turn(photos):
    async def go():
        async with framewire.Engine(codec="turbo", threads=1, queue=1) as engine:
            inputs = [*photos, memoryview(photos[0])[::2], *photos]
            calls = [engine.aresize(one, size="32x") for one in inputs]
            return await asyncio.gather(*calls, return_exceptions=True)

    answers = asyncio.run(go())
    bad = answers.pop(len(photos))
    assert isinstance(bad, framewire.InvalidInput) and bad.subject == "jpeg"
    assert all(isinstance(answer, framewire.Resized) for answer in answers)


def test_each_that_waits_gets_an_exception_of_its_own(photo, slow_photo, monkeypatch):
    async def go():
        engine = framewire.Engine(codec="turbo", threads=1, queue=1)
        slow = asyncio.create_task(engine.aresize(slow_photo, size="64x"))
        waiting = [asyncio.create_task(engine.aresize(photo, size="64x")) for _ in range(4)]
        await asyncio.sleep(0)
        engine._native.close()  # while they wait, as close() in a callback does
        return await asyncio.gather(slow, *waiting, return_exceptions=True)

    _, *answers = asyncio.run(go())
    closed = [answer for answer in answers if isinstance(answer, framewire.EngineClosed)]
    assert len(closed) >= 3 and len(set(map(id, closed))) == len(closed)


def test_a_failed_coroutine_leaves_no_cycle():
    class Input(bytearray):
        pass

    async def go():
        async with framewire.Engine(codec="turbo", threads=1) as engine:
            bad = Input(b"no JPEG")
            gone = weakref.ref(bad)
            try:
                await engine.aresize(bad)
            except framewire.InvalidInput:
                pass
            del bad
            for _ in range(100):  # the loop holds what it has just called
                if gone() is None:
                    break
                await asyncio.sleep(0.01)
            return gone()

    gc.disable()
    try:
        assert asyncio.run(go()) is None
    finally:
        gc.enable()
