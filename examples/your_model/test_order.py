from conjoin.testing import LocalEngine, assert_that


def test_a_payment_that_comes_early_is_kept_for_its_order():
    engine = LocalEngine()
    engine.deploy("examples/patterns/models/order_to_cash.bpmn")
    [order] = engine.publish("Order placed", "order-7", {"orderId": "order-7"}).receivers
    early = engine.publish("Money collected", "order-7", {"amount": 99}, ttl="1h")
    engine.complete("send-invoice")  # only now the order waits for its money
    assert_that(early).was_correlated_to(order, at="paid")
    assert_that(order).is_waiting_at("ship").has_variable("amount", 99)
