/** The page of a toy: that it can be reached is all there is to it. */
export default function ToyPage() {
  return <h1>A page of toys</h1>;
}
